package bank;

import java.nio.file.Paths;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** The beans of the month-end run. */
public class BankConfiguration {
    @Bean
    public FeeRules feeRules() {
        return new FeeRules();
    }

    @Bean
    public Billing billing(FeeRules feeRules) {
        return new Billing(feeRules);
    }

    public static void main(String[] args) throws Exception {
        try (AnnotationConfigApplicationContext context =
                new AnnotationConfigApplicationContext(BankConfiguration.class)) {
            Environment settings = context.getEnvironment();
            context.getBean(Billing.class).run(
                Paths.get(settings.getRequiredProperty("billing.input")),
                Paths.get(settings.getRequiredProperty("billing.output")));
        }
    }
}
