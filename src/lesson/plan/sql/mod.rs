//! Checks SQL statements before there is a server: their grammar, the tables, columns and rows that they name, and their
//! transactions.

mod columns;
mod constructs;
mod definitions;
mod details;
mod functions;
mod grammar;
pub(super) mod replies;
pub(super) mod rows;
mod scopes;
mod statement;
pub(super) mod tables;
mod transactions;

pub(super) use columns::{check_columns, row_lint};
pub(super) use grammar::check_grammar;
pub(super) use statement::{locked_row, selected};
pub(super) use transactions::check_transactions;
