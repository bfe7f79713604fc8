"""Where rows come from: memory, files, SQL and Spark, as blocks of Arrow columns, read again on demand."""
