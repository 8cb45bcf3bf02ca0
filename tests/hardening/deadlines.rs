//! Servers that die, stop or never answer: a message within seconds, and a way on.
