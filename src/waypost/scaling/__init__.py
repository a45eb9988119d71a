"""What any fleet needs: jobs under leases, budgets, schedules, caching. No word here about places or links."""
