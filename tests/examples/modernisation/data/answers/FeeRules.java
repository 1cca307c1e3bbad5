package bank;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** Monthly account fees. */
public class FeeRules {
    private static final BigDecimal MAX_FEE = new BigDecimal("95");
    private static final BigDecimal FREE_BALANCE = new BigDecimal("1500");
    private static final BigDecimal CURRENT_FEE = new BigDecimal("4.90");
    private static final int FREE_ENTRIES = 30;
    private static final BigDecimal ENTRY_FEE = new BigDecimal("0.15");
    private static final BigDecimal BUSINESS_FEE = new BigDecimal("12.50");
    private static final BigDecimal BUSINESS_ENTRY = new BigDecimal("0.085");
    private static final BigDecimal OVERDRAFT_FEE = new BigDecimal("7.50");

    /** The fee of a month. */
    public BigDecimal monthlyFee(char kind, BigDecimal balance, int entries) {
        BigDecimal fee;
        switch (kind) {
            case 'S': fee = BigDecimal.ZERO; break;
            case 'C': fee = currentFee(balance, entries); break;
            case 'B': fee = businessFee(entries); break;
            default: throw new IllegalArgumentException("unknown kind of account: " + kind);
        }
        if (balance.signum() < 0) {
            fee = fee.add(OVERDRAFT_FEE);
        }
        return fee.min(MAX_FEE);
    }

    private BigDecimal currentFee(BigDecimal balance, int entries) {
        BigDecimal fee = balance.compareTo(FREE_BALANCE) < 0 ? CURRENT_FEE : BigDecimal.ZERO;
        return fee.add(ENTRY_FEE.multiply(BigDecimal.valueOf(Math.max(entries - FREE_ENTRIES, 0))));
    }

    private BigDecimal businessFee(int entries) {
        BigDecimal all = BUSINESS_ENTRY_FEE.multiply(BigDecimal.valueOf(entries));
        return BUSINESS_FEE.add(all).setScale(2, RoundingMode.HALF_UP);
    }
}
