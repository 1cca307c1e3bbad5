"""Five agents turn COBOL and PL/SQL into Java; text passes between them as handles."""
