"""Documents embedded so that those with like labels are near; a text has its neighbours' labels."""
