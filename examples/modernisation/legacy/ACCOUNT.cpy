      * One account as the branches deliver it, 40 characters a line.
       01  ACCOUNT-RECORD.
           05  ACC-ID                PIC X(8).
           05  ACC-KIND              PIC X.
               88  ACC-SAVINGS       VALUE 'S'.
               88  ACC-CURRENT       VALUE 'C'.
               88  ACC-BUSINESS      VALUE 'B'.
           05  ACC-BALANCE           PIC S9(9)V99
                                     SIGN LEADING SEPARATE.
           05  ACC-DAYS              PIC 9(3).
           05  ACC-ENTRIES           PIC 9(4).
           05  FILLER                PIC X(12).
