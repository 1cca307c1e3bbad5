       IDENTIFICATION DIVISION.
       PROGRAM-ID. BILLING.
      *****************************************************************
      * Month-end run: interest, fee and new balance of each account. *
      * Input   accounts, one a line (copybook ACCOUNT)               *
      * Output  a statement with one line an account, and totals      *
      *****************************************************************
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT ACCOUNTS ASSIGN TO DYNAMIC WS-INPUT-NAME
               ORGANIZATION IS LINE SEQUENTIAL
               FILE STATUS IS WS-INPUT-STATUS.
           SELECT STATEMENTS ASSIGN TO DYNAMIC WS-OUTPUT-NAME
               ORGANIZATION IS LINE SEQUENTIAL.

       DATA DIVISION.
       FILE SECTION.
       FD  ACCOUNTS.
           COPY ACCOUNT.
       FD  STATEMENTS.
       01  STATEMENT-LINE            PIC X(72).

       WORKING-STORAGE SECTION.
       01  WS-FILES.
           05  WS-INPUT-NAME         PIC X(200).
           05  WS-OUTPUT-NAME        PIC X(200).
           05  WS-INPUT-STATUS       PIC XX.
       01  WS-SWITCHES.
           05  WS-END                PIC X VALUE 'N'.
               88  NO-MORE-ACCOUNTS  VALUE 'Y'.
           05  WS-REASON             PIC X(12).
               88  NO-REASON         VALUE SPACES.
       01  WS-AMOUNTS.
           05  WS-RATE               PIC 9V9(5).
           05  WS-INTEREST           PIC S9(9)V99.
           05  WS-FEE                PIC S9(7)V99.
           05  WS-NEW-BALANCE        PIC S9(9)V99.
           05  WS-CHARGED-ENTRIES    PIC S9(5).
       01  WS-TOTALS.
           05  WS-ACCOUNT-COUNT      PIC 9(5) VALUE ZERO.
           05  WS-REJECT-COUNT       PIC 9(5) VALUE ZERO.
           05  WS-INTEREST-TOTAL     PIC S9(11)V99 VALUE ZERO.
           05  WS-FEE-TOTAL          PIC S9(11)V99 VALUE ZERO.

       01  DETAIL-LINE.
           05  DL-ID                 PIC X(8).
           05  FILLER                PIC XX VALUE SPACES.
           05  DL-KIND               PIC X.
           05  FILLER                PIC XX VALUE SPACES.
           05  DL-INTEREST           PIC -(7)9.99.
           05  FILLER                PIC XX VALUE SPACES.
           05  DL-FEE                PIC -(5)9.99.
           05  FILLER                PIC XX VALUE SPACES.
           05  DL-BALANCE            PIC -(9)9.99.
       01  REJECT-LINE.
           05  RL-ID                 PIC X(8).
           05  FILLER                PIC X(12) VALUE '  REJECTED: '.
           05  RL-REASON             PIC X(12).
       01  TOTAL-LINE.
           05  FILLER                PIC X(8) VALUE 'TOTAL'.
           05  TL-COUNT              PIC ZZZZ9.
           05  TL-INTEREST           PIC -(9)9.99.
           05  FILLER                PIC XX VALUE SPACES.
           05  TL-FEE                PIC -(7)9.99.
           05  FILLER                PIC X(11) VALUE '  REJECTED '.
           05  TL-REJECTS            PIC ZZZZ9.

       PROCEDURE DIVISION.
       MAIN-LINE.
           PERFORM OPEN-FILES
           PERFORM READ-ACCOUNT
           PERFORM UNTIL NO-MORE-ACCOUNTS
               PERFORM HANDLE-ACCOUNT
               PERFORM READ-ACCOUNT
           END-PERFORM
           PERFORM WRITE-TOTALS
           CLOSE ACCOUNTS STATEMENTS
           STOP RUN.

       OPEN-FILES.
           ACCEPT WS-INPUT-NAME FROM ARGUMENT-VALUE
           ACCEPT WS-OUTPUT-NAME FROM ARGUMENT-VALUE
           OPEN INPUT ACCOUNTS
           IF WS-INPUT-STATUS NOT = '00'
               DISPLAY 'BILLING: CANNOT READ ' WS-INPUT-NAME
               MOVE 8 TO RETURN-CODE
               STOP RUN
           END-IF
           OPEN OUTPUT STATEMENTS.

       READ-ACCOUNT.
           READ ACCOUNTS
               AT END SET NO-MORE-ACCOUNTS TO TRUE
           END-READ.

       HANDLE-ACCOUNT.
           PERFORM CHECK-ACCOUNT
           IF NO-REASON
               PERFORM COMPUTE-INTEREST
               PERFORM COMPUTE-FEE
               COMPUTE WS-NEW-BALANCE =
                   ACC-BALANCE + WS-INTEREST - WS-FEE
               PERFORM WRITE-DETAIL
           ELSE
               PERFORM WRITE-REJECT
           END-IF.

      * An account of an unknown kind, or one without days, is told in
      * the statement and counted, and changes no total.
       CHECK-ACCOUNT.
           SET NO-REASON TO TRUE
           IF NOT (ACC-SAVINGS OR ACC-CURRENT OR ACC-BUSINESS)
               MOVE 'KIND' TO WS-REASON
           ELSE
               IF ACC-DAYS = ZERO OR ACC-DAYS > 31
                   MOVE 'DAYS' TO WS-REASON
               END-IF
           END-IF.

      * Credit interest is for savings alone, in three steps, each on
      * the whole balance. Whoever owes pays 11.9 per cent, whatever
      * the kind. A year has 360 days here.
       COMPUTE-INTEREST.
           EVALUATE TRUE
               WHEN ACC-BALANCE < ZERO
                   MOVE 0.11900 TO WS-RATE
               WHEN NOT ACC-SAVINGS
                   MOVE ZERO TO WS-RATE
               WHEN ACC-BALANCE < 1000
                   MOVE 0.00500 TO WS-RATE
               WHEN ACC-BALANCE < 25000
                   MOVE 0.01250 TO WS-RATE
               WHEN OTHER
                   MOVE 0.01875 TO WS-RATE
           END-EVALUATE
           COMPUTE WS-INTEREST ROUNDED =
               ACC-BALANCE * WS-RATE * ACC-DAYS / 360.

      * The counters at the branches ask the package FEE_RULES for the
      * same fee; the two must agree to the cent.
       COMPUTE-FEE.
           MOVE ZERO TO WS-FEE
           EVALUATE TRUE
               WHEN ACC-SAVINGS
                   CONTINUE
               WHEN ACC-CURRENT
                   IF ACC-BALANCE < 1500
                       MOVE 4.90 TO WS-FEE
                   END-IF
                   COMPUTE WS-CHARGED-ENTRIES = ACC-ENTRIES - 30
                   IF WS-CHARGED-ENTRIES > 0
                       COMPUTE WS-FEE =
                           WS-FEE + WS-CHARGED-ENTRIES * 0.15
                   END-IF
               WHEN ACC-BUSINESS
                   COMPUTE WS-FEE ROUNDED =
                       12.50 + ACC-ENTRIES * 0.085
           END-EVALUATE
           IF ACC-BALANCE < ZERO
               ADD 7.50 TO WS-FEE
           END-IF
           IF WS-FEE > 95
               MOVE 95 TO WS-FEE
           END-IF.

       WRITE-DETAIL.
           MOVE ACC-ID TO DL-ID
           MOVE ACC-KIND TO DL-KIND
           MOVE WS-INTEREST TO DL-INTEREST
           MOVE WS-FEE TO DL-FEE
           MOVE WS-NEW-BALANCE TO DL-BALANCE
           WRITE STATEMENT-LINE FROM DETAIL-LINE
           ADD 1 TO WS-ACCOUNT-COUNT
           ADD WS-INTEREST TO WS-INTEREST-TOTAL
           ADD WS-FEE TO WS-FEE-TOTAL.

       WRITE-REJECT.
           MOVE ACC-ID TO RL-ID
           MOVE WS-REASON TO RL-REASON
           WRITE STATEMENT-LINE FROM REJECT-LINE
           ADD 1 TO WS-REJECT-COUNT.

       WRITE-TOTALS.
           MOVE WS-ACCOUNT-COUNT TO TL-COUNT
           MOVE WS-INTEREST-TOTAL TO TL-INTEREST
           MOVE WS-FEE-TOTAL TO TL-FEE
           MOVE WS-REJECT-COUNT TO TL-REJECTS
           WRITE STATEMENT-LINE FROM TOTAL-LINE.
