"""How networks learn: one explicit loop on Lightning Fabric, and what it needs."""
