"""What any fleet needs: jobs under leases, budgets. No word here about places or links."""
