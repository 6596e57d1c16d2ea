"""What is counted (`phases`, `schema`, `record`), what must add up (`identities`), and tables for people."""
