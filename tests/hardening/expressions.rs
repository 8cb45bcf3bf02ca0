//! Expressions, YAML and replies that are too long, too deep or too big are refused or bounded.
