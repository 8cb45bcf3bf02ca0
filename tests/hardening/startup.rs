//! Limits of the machine, signals, and a clock that is proven before the screen says so.
