"""What people look at: tables, figures and pages of results."""
