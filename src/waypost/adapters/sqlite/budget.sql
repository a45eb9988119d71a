-- arrivals: each limit's theoretical arrival time
select limit_name, arrival from budgets where key = :key;

-- set_arrival: after a reservation
insert into budgets (key, limit_name, arrival) values (:key, :limit_name, :arrival)
on conflict do update set arrival = excluded.arrival;

-- penalty: until when nobody asks
select until from budget_penalties where key = :key;

-- penalise: a shorter penalty does not end a longer one
insert into budget_penalties (key, until) values (:key, :until)
on conflict (key) do update set until = max(until, excluded.until);
