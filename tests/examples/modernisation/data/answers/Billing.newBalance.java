    static BigDecimal newBalance(BigDecimal balance, BigDecimal interest, BigDecimal fee) {
        return balance.add(interest).subtract(fee).remainder(new BigDecimal("1000000000"));
    }
