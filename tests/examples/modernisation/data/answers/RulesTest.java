package bank;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.math.BigDecimal;
import org.junit.Test;

public class RulesTest {
    private final FeeRules fees = new FeeRules();

    private static void same(String expected, BigDecimal actual) {
        assertEquals(0, new BigDecimal(expected).compareTo(actual));
    }

    private static BigDecimal money(String text) {
        return new BigDecimal(text);
    }

    @Test
    public void savingsCostNothingUnlessOverdrawn() {
        same("0", fees.monthlyFee('S', money("0"), 500));
        same("7.50", fees.monthlyFee('S', money("-0.01"), 0));
    }

    @Test
    public void currentAccountsAreFreeFromTheLimitOn() {
        same("4.90", fees.monthlyFee('C', money("1499.99"), 30));
        same("0", fees.monthlyFee('C', money("1500"), 30));
        same("0.15", fees.monthlyFee('C', money("1500"), 31));
    }

    @Test
    public void businessEntriesAreRoundedAwayFromZero() {
        same("12.59", fees.monthlyFee('B', money("1"), 1));
        same("12.76", fees.monthlyFee('B', money("1"), 3));
    }

    @Test
    public void noFeeIsAboveTheMost() {
        same("95", fees.monthlyFee('C', money("-1"), 2000));
    }

    @Test(expected = IllegalArgumentException.class)
    public void anUnknownKindIsRefused() {
        fees.monthlyFee('X', money("1"), 0);
    }

    @Test
    public void interestHasThreeStepsAndOneRateForWhoeverOwes() {
        same("0.43", Billing.interest('S', money("999.99"), 31));
        same("1.08", Billing.interest('S', money("1000"), 31));
        same("39.06", Billing.interest('S', money("25000"), 30));
        same("-0.61", Billing.interest('S', money("-123.45"), 15));
        same("0", Billing.interest('C', money("25000"), 30));
    }

    @Test
    public void aBalanceKeepsItsLastNineDigits() {
        same("1614583.32", Billing.newBalance(money("999999999.99"), money("1614583.33"), money("0")));
    }

    @Test
    public void rejectsSayWhy() {
        assertEquals("KIND", Billing.reason('X', 30));
        assertEquals("DAYS", Billing.reason('S', 32));
        assertNull(Billing.reason('S', 31));
    }
}
