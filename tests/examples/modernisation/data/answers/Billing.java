package bank;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Month-end run: interest, fee and new balance of each account. */
public class Billing {
    private static final BigDecimal YEAR = new BigDecimal("360");
    private final FeeRules fees;
    private int accounts;
    private int rejects;
    private BigDecimal interestTotal = BigDecimal.ZERO;
    private BigDecimal feeTotal = BigDecimal.ZERO;

    public Billing(FeeRules fees) {
        this.fees = fees;
    }

    public static void main(String[] args) throws IOException {
        new Billing(new FeeRules()).run(Paths.get(args[0]), Paths.get(args[1]));
    }

    /** Read accounts, write their statement. */
    public void run(Path input, Path output) throws IOException {
        try (BufferedReader in = Files.newBufferedReader(input, StandardCharsets.ISO_8859_1);
                BufferedWriter out = Files.newBufferedWriter(output, StandardCharsets.ISO_8859_1)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                write(out, statement(line));
            }
            write(out, totals());
        }
    }

    private String statement(String line) {
        String id = line.substring(0, 8);
        char kind = line.charAt(8);
        BigDecimal balance = new BigDecimal(line.substring(9, 21)).movePointLeft(2);
        int days = Integer.parseInt(line.substring(21, 24));
        int entries = Integer.parseInt(line.substring(24, 28));
        String reason = reason(kind, days);
        if (reason != null) {
            rejects++;
            return id + "  REJECTED: " + reason;
        }
        BigDecimal interest = interest(kind, balance, days);
        BigDecimal fee = fees.monthlyFee(kind, balance, entries);
        accounts++;
        interestTotal = interestTotal.add(interest);
        feeTotal = feeTotal.add(fee);
        return id + "  " + kind + "  " + edited(interest, 7) + "  " + edited(fee, 5) + "  "
            + edited(newBalance(balance, interest, fee), 9);
    }

    private String totals() {
        return "TOTAL   " + String.format("%5d", accounts) + edited(interestTotal, 9) + "  "
            + edited(feeTotal, 7) + "  REJECTED " + String.format("%5d", rejects);
    }

    static String reason(char kind, int days) {
        if ("SCB".indexOf(kind) < 0) {
            return "KIND";
        }
        return days == 0 || days > 31 ? "DAYS" : null;
    }

    static BigDecimal rate(char kind, BigDecimal balance) {
        if (balance.signum() < 0) {
            return new BigDecimal("0.11900");
        }
        if (kind != 'S') {
            return BigDecimal.ZERO;
        }
        if (balance.compareTo(new BigDecimal("1000")) < 0) {
            return new BigDecimal("0.00500");
        }
        return new BigDecimal(balance.compareTo(new BigDecimal("25000")) < 0 ? "0.01250" : "0.01875");
    }

    static BigDecimal interest(char kind, BigDecimal balance, int days) {
        return balance.multiply(rate(kind, balance)).multiply(BigDecimal.valueOf(days))
            .divide(YEAR, 2, RoundingMode.HALF_UP);
    }

    static BigDecimal newBalance(BigDecimal balance, BigDecimal interest, BigDecimal fee) {
        return balance.add(interest).subtract(fee);
    }

    /** A number in a field of so many digits before the point, the sign before the first of them. */
    static String edited(BigDecimal value, int digits) {
        return String.format("%" + (digits + 4) + "s", value.setScale(2, RoundingMode.DOWN).toPlainString());
    }

    private static void write(BufferedWriter out, String line) throws IOException {
        out.write(line);
        out.write('\n');
    }
}
