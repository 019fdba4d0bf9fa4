"""Files of documents are checked before anybody trains on them."""
