//! What the commands of a lesson reach: the servers of its own lab, and of those only the keys.
