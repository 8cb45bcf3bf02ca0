//! Random programs, explored by Lockstep and by a model that shares no code with it.
