"""Tables, figures and HTML pages from plain numbers; knows no table, no session and no audit."""
