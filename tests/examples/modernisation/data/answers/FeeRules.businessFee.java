    private BigDecimal businessFee(int entries) {
        BigDecimal all = BUSINESS_ENTRY.multiply(BigDecimal.valueOf(entries));
        return BUSINESS_FEE.add(all).setScale(2, RoundingMode.HALF_UP);
    }
