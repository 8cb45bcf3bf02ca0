//! No process and no directory outlives Lockstep, forks of servers included.
