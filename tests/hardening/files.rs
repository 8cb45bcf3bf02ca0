//! Recordings, exports and configuration: what is overwritten, and what is read.
