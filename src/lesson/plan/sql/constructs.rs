//! The names and constructs in a statement.

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, LockType, ObjectName, Query, Select, SelectItem, TableFactor,
    Value, Visitor,
};

use super::{details, functions::FOREIGN_FUNCTIONS, statement::last_of};
use crate::lesson::{error::Finding, has_word};

/// The names and constructs in a statement.
#[derive(Default)]
pub(super) struct Named {
    pub(super) tables: BTreeSet<String>,
    pub(super) columns: Vec<String>,
    /// Aliases that the statement defines.
    pub(super) aliases: BTreeSet<String>,
    /// Whether it uses tables whose columns are not known, such as those of a `WITH`.
    pub(super) unknown_columns: bool,
    pub(super) compares_null: bool,
    /// `?` or `:name`, which a driver would fill in.
    pub(super) placeholder: Option<String>,
    /// A condition that is a bare column, or that compares the result of a comparison.
    pub(super) bare_condition: Option<String>,
    /// Whether it contains `FOR SHARE`.
    pub(super) shares: bool,
    /// A construct of another database, and what to use in MariaDB.
    pub(super) foreign: Option<(&'static str, &'static str)>,
    pub(super) calls: Vec<Function>,
    pub(super) aggregate: Option<Finding>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.unknown_columns |= query.with.is_some();
        self.shares |= query.locks.iter().any(|lock| lock.lock_type == LockType::Share);
        if query.locks.iter().any(|lock| lock.of.is_some()) {
            self.foreign = Some(("FOR UPDATE OF", "FOR UPDATE"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let Some(condition @ Expr::Identifier(_)) = &select.selection {
            self.bare_condition = Some(condition.to_string());
        }
        self.aggregate = self.aggregate.take().or_else(|| details::of_aggregate(select));
        if select.top.is_some() {
            self.foreign = Some(("TOP", "SELECT column FROM table LIMIT 1"));
        }
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.aliases.insert(alias.value.to_ascii_lowercase());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.unknown_columns |= relation.0.len() != 1;
        self.tables.insert(last_of(relation));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        self.unknown_columns |=
            !matches!(table, TableFactor::Table { args: None, .. } | TableFactor::NestedJoin { .. });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
        match expr {
            Expr::Identifier(name) => self.columns.push(name.value.to_ascii_lowercase()),
            Expr::CompoundIdentifier(names) => {
                self.columns.extend(names.last().map(|name| name.value.to_ascii_lowercase()));
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::NotEq, .. }
                if matches!(
                    **left,
                    Expr::BinaryOp { op: BinaryOperator::Eq | BinaryOperator::NotEq, .. }
                ) =>
            {
                self.bare_condition = Some(expr.to_string());
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::NotEq, right } => {
                self.compares_null |= is_null(left) || is_null(right);
            }
            Expr::Value(value) => {
                if let Value::Placeholder(written) = &value.value {
                    self.placeholder = Some(written.clone());
                }
            }
            Expr::ILike { .. } => self.foreign = Some(("ILIKE", "LIKE")),
            Expr::Cast { kind: CastKind::DoubleColon, .. } => {
                self.foreign = Some(("::", "CAST(column AS CHAR)"));
            }
            Expr::Function(function) => {
                let name = function.name.to_string();
                let is_it = |(known, _): &&(&str, &str)| name.eq_ignore_ascii_case(known);
                self.foreign = self.foreign.or(FOREIGN_FUNCTIONS.iter().find(is_it).copied());
                self.calls.push(function.clone());
                // Sequences appear where the parser expects columns.
                self.unknown_columns |=
                    has_word("NEXTVAL LASTVAL SETVAL", &function.name.to_string().to_ascii_uppercase());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
