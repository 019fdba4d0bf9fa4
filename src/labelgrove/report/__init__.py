"""Results that people look at: pages, figures and tables, and what is written on them."""
