//! The filters, tests and functions of expressions, each wrapped in a check of the sizes of its arguments and its
//! result. Expressions have no loops, so their length bounds their instructions; only the size of values remains to be
//! bounded. A value has a cost (bytes of text, `ITEM` for anything else); no value may cost more than
//! [`LARGEST_VALUE`], and all values that one evaluation reads or creates no more than [`MOST_WORK`].

use std::{collections::BTreeMap, sync::LazyLock};

use minijinja::{
    Environment, Error, ErrorKind, Expression, State, UndefinedBehavior, Value, context, filters, functions,
    tests,
    value::{Rest, Tuple, ValueKind, ValueOrKwargs},
};

use super::{
    allowance,
    syntax::{ARITHMETIC, SLICE},
};

/// The largest value that an expression may create, in bytes of text; other values count `ITEM` bytes each.
pub const LARGEST_VALUE: usize = 1 << 20;

/// The limit for all values that one evaluation reads and creates, in the same unit.
const MOST_WORK: usize = 4 << 20;

/// The cost of a number, a list or a map by itself.
const ITEM: usize = 8;

/// The deepest nesting of values: printing, comparing and dropping them recurse.
const DEEPEST_VALUE: usize = 32;

macro_rules! table {
    ($module:ident: $($name:literal $function:ident),+ $(,)?) => {
        &[$(($name, || Value::from_function($module::$function))),+]
    };
}

pub(crate) type Table = &'static [(&'static str, fn() -> Value)];

/// The filters of `minijinja`.
pub(crate) const FILTERS: Table = table![filters:
    "abs" abs, "attr" attr, "batch" batch, "bool" bool, "capitalize" capitalize, "chain" chain, "count" length,
    "d" default, "default" default, "dictsort" dictsort, "e" escape, "escape" escape, "first" first, "float" float,
    "format" format, "groupby" groupby, "indent" indent, "int" int, "items" items, "join" join, "last" last,
    "length" length, "lines" lines, "list" list, "lower" lower, "map" map, "max" max, "min" min, "pprint" pprint,
    "reject" reject, "rejectattr" rejectattr, "replace" replace, "reverse" reverse, "round" round, "safe" safe,
    "select" select, "selectattr" selectattr, "slice" slice, "sort" sort, "split" split, "string" string, "sum" sum,
    "title" title, "trim" trim, "unique" unique, "upper" upper, "zip" zip,
];

/// The named tests of `minijinja`.
pub(crate) const TESTS: Table = table![tests:
    "boolean" is_boolean, "defined" is_defined, "divisibleby" is_divisibleby, "endingwith" is_endingwith, "eq" is_eq,
    "equalto" is_eq, "escaped" is_safe, "even" is_even, "false" is_false, "filter" is_filter, "float" is_float,
    "ge" is_ge, "greaterthan" is_gt, "gt" is_gt, "in" is_in, "int" is_integer, "integer" is_integer,
    "iterable" is_iterable, "le" is_le, "lessthan" is_lt, "lower" is_lower, "lt" is_lt, "mapping" is_mapping,
    "ne" is_ne, "none" is_none, "number" is_number, "odd" is_odd, "safe" is_safe, "sameas" is_sameas,
    "sequence" is_sequence, "startingwith" is_startingwith, "string" is_string, "test" is_test, "true" is_true,
    "undefined" is_undefined, "upper" is_upper, "==" is_eq, "!=" is_ne, "<" is_lt, "<=" is_le, ">" is_gt, ">=" is_ge,
];

/// The functions of `minijinja`. `debug` is left out: it reveals internals of the program.
const FUNCTIONS: Table = table![functions: "range" range, "dict" dict, "namespace" namespace];

/// An environment whose filters, tests, functions and arithmetic are bounded. An unknown name is an error, not an empty
/// text.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, function) in FILTERS {
        environment.add_filter(*name, bounded(name, function()));
    }
    for (name, function) in TESTS {
        environment.add_test(*name, bounded("", function()));
    }
    for (name, function) in FUNCTIONS {
        environment.add_function(*name, bounded("", function()));
    }
    for (sign, filter) in ARITHMETIC {
        environment.add_filter(filter, move |state: &mut State<'_, '_>, left: &Value, right: &Value| {
            arithmetic(state, sign, left, right)
        });
    }
    environment.add_filter(SLICE, slice);
    environment
}

/// The cost of the values read and created so far in one evaluation.
#[derive(Debug, Default)]
struct Work(usize);

fn refused(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

fn too_large() -> Error {
    refused(format!("it makes a value of more than {} KiB", LARGEST_VALUE >> 10))
}

fn spend(state: &mut State<'_, '_>, cost: usize) -> Result<(), Error> {
    if cost > LARGEST_VALUE {
        return Err(too_large());
    }
    let work = state.get_or_insert_extension_with(Work::default);
    work.0 += cost;
    if work.0 > MOST_WORK {
        return Err(refused(format!("it goes through more than {} MiB of values", MOST_WORK >> 20)));
    }
    allowance::take(cost).map_err(|why| refused(why.into()))
}

/// The cost of a value, or an error if it is too high. A value inside a value counts each time it appears.
pub(crate) fn cost(value: &Value) -> Result<usize, Error> {
    fn add(value: &Value, depth: usize, sum: &mut usize) -> Result<(), Error> {
        *sum += ITEM;
        if let Some(text) = value.as_str() {
            *sum += text.len();
        } else if let Some(bytes) = value.as_bytes() {
            *sum += bytes.len();
        } else if let Some(object) = value.as_object() {
            if depth == DEEPEST_VALUE {
                return Err(refused(format!("it makes a value nested deeper than {DEEPEST_VALUE} levels")));
            }
            if value.kind() == ValueKind::Map {
                for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                    add(&key, depth + 1, sum)?;
                    add(&item, depth + 1, sum)?;
                }
            } else {
                for item in object.try_iter().into_iter().flatten() {
                    add(&item, depth + 1, sum)?;
                }
            }
        }
        if *sum > LARGEST_VALUE {
            return Err(too_large());
        }
        Ok(())
    }
    let mut sum = 0;
    add(value, 0, &mut sum)?;
    Ok(sum)
}

/// Materializes a value for storage: values that `minijinja` computes lazily at each access (ranges, slices, sums of
/// lists) are written out, so that they cannot build on one another.
pub(crate) fn settled(value: Value) -> Result<Value, Error> {
    fn settle(value: &Value) -> Value {
        let settled = value.as_object().and_then(|object| {
            if value.kind() == ValueKind::Map {
                let pairs = object.try_iter_pairs()?.map(|(key, item)| (key, settle(&item)));
                return Some(Value::from(pairs.collect::<BTreeMap<Value, Value>>()));
            }
            let items: Vec<Value> = object.try_iter()?.map(|item| settle(&item)).collect();
            Some(if value.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) })
        });
        settled.unwrap_or_else(|| value.clone())
    }
    cost(&value)?;
    Ok(if value.as_object().is_some() { settle(&value) } else { value })
}

/// Wraps a filter, test or function of `minijinja` in a check of its arguments and one of its result.
fn bounded(
    name: &'static str,
    inner: Value,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static {
    move |state, arguments| {
        let arguments = arguments.into_values();
        let costs = arguments.iter().map(cost).collect::<Result<Vec<usize>, Error>>()?;
        spend(state, costs.iter().sum())?;
        spend(state, growth(name, &arguments, &costs)?)?;
        let result = inner.call(state, &arguments).map_err(|error| reworded(name, &arguments, error))?;
        spend(state, cost(&result)?)?;
        Ok(result)
    }
}

/// Replaces the parser's message about digits by one that quotes the text that is no number. What cannot be done with a
/// reply that has not come yet is told apart from what cannot be done at all.
fn reworded(name: &str, arguments: &[Value], error: Error) -> Error {
    if arguments.first().is_some_and(Value::is_undefined) {
        let why = error.detail().unwrap_or("it has no value").to_owned();
        return Error::new(ErrorKind::UndefinedError, why);
    }
    match arguments.first().and_then(Value::as_str) {
        Some(text) if matches!(name, "int" | "float") => {
            let beginning: String = text.chars().take(40).collect();
            Error::new(ErrorKind::InvalidOperation, format!("'{beginning}' is no number"))
        }
        _ => error,
    }
}

/// The most that a filter can create beyond the cost of its arguments, for the filters that can create more.
fn growth(name: &str, arguments: &[Value], costs: &[usize]) -> Result<usize, Error> {
    let Some((subject, others)) = arguments.split_first() else { return Ok(0) };
    let others_cost: usize = costs.iter().skip(1).sum();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let items = || subject.len().unwrap_or(0);
    Ok(match name {
        "replace" => {
            let (from, to) = (text(others.first()), text(others.get(1)));
            // If the subject is no text, the filter itself refuses it.
            let times = subject.as_str().map_or(0, |subject| match from.as_str() {
                "" => subject.len() + 1,
                from => subject.matches(from).count(),
            });
            times.saturating_mul(to.len())
        }
        "indent" => {
            let lines = subject.as_str().map_or(0, |text| text.matches('\n').count()) + 1;
            lines.saturating_mul(largest_number(others))
        }
        // Both pad short rows with their last argument.
        "batch" | "slice" => {
            let filling = others.get(1).map(cost).transpose()?.unwrap_or(ITEM);
            largest_number(others).saturating_mul(ITEM + filling)
        }
        "format" => {
            let text = text(Some(subject));
            let numbers = text.split(|c: char| !c.is_ascii_digit());
            let width: usize = numbers
                .filter(|digits| !digits.is_empty())
                .map(|digits| digits.parse().unwrap_or(usize::MAX))
                .fold(0, usize::saturating_add);
            let given = if text.contains('*') { largest_number(others) } else { 0 };
            let each = width.saturating_add(given).saturating_add(others_cost);
            text.matches('%').count().saturating_mul(each)
        }
        // Indentation: four spaces per level around an item.
        "pprint" => costs.first().map_or(0, |cost| cost.saturating_mul(4)),
        // Each partial sum of texts is a new text.
        "sum" if sums_texts(others) => {
            let whole = costs.first().copied().unwrap_or(0);
            items().saturating_mul(whole + others_cost)
        }
        // These filters apply their other arguments to each item, or put them between items.
        "join" | "sum" | "sort" | "map" | "min" | "max" | "unique" | "groupby" | "select" | "reject"
        | "selectattr" | "rejectattr" => items().saturating_mul(others_cost),
        _ => 0,
    })
}

/// Whether a sum begins with a text: its second argument, or the one called `start`.
fn sums_texts(others: &[Value]) -> bool {
    let named = others.last().and_then(|named| named.get_attr("start").ok());
    others.get(1).into_iter().chain(&named).any(|start| start.as_str().is_some())
}

/// The largest number among the arguments, keyword arguments included.
fn largest_number(arguments: &[Value]) -> usize {
    let number = |value: &Value| match value.kind() {
        ValueKind::Number => {
            Some(usize::try_from(i128::try_from(value.clone()).ok()?.max(0)).unwrap_or(usize::MAX))
        }
        _ => None,
    };
    let by_keyword = |value: &Value| {
        let pairs = value.as_object()?.try_iter_pairs()?;
        pairs.filter_map(|(_, item)| number(&item)).max()
    };
    arguments.iter().filter_map(|value| number(value).or_else(|| by_keyword(value))).max().unwrap_or(0)
}

/// `minijinja`'s arithmetic, which can only be reached through its expressions.
static PLAIN: LazyLock<Vec<(&str, Expression<'static, 'static>)>> = LazyLock::new(|| {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment
    });
    let signs = ARITHMETIC.iter().map(|(sign, _)| (*sign, format!("a {sign} b")));
    let slices = [(SLICE, "a[b:c:d]".to_owned())];
    signs
        .chain(slices)
        .filter_map(|(name, text)| Some((name, ENVIRONMENT.compile_expression_owned(text).ok()?)))
        .collect()
});

fn plain(name: &str, names: Value) -> Result<Value, Error> {
    let expression = PLAIN.iter().find(|(known, _)| *known == name);
    let (_, expression) = expression.ok_or_else(|| Error::from(ErrorKind::InvalidOperation))?;
    expression.eval(names)
}

fn arithmetic(state: &mut State<'_, '_>, sign: &str, left: &Value, right: &Value) -> Result<Value, Error> {
    let is_number = |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool);
    if !(is_number(left) && is_number(right)) {
        let (left_cost, right_cost) = (cost(left)?, cost(right)?);
        let result = if sign == "*" {
            let times = largest_number(&[left.clone(), right.clone()]);
            left_cost.max(right_cost).saturating_mul(times)
        } else {
            0
        };
        spend(state, left_cost + right_cost)?;
        spend(state, result)?;
    }
    plain(sign, context! { a => left, b => right })
}

fn slice(
    state: &mut State<'_, '_>,
    value: &Value,
    start: &Value,
    end: &Value,
    step: &Value,
) -> Result<Value, Error> {
    spend(state, cost(value)?)?;
    let bound = |value: &Value| match value.kind() {
        ValueKind::Number => i64::try_from(value.clone()).ok().map(|n| n.clamp(-(1 << 40), 1 << 40)),
        _ => None,
    };
    // `minijinja` panics at a backward slice of an empty value, or of one whose start comes before its end: both are
    // empty.
    let length = value.as_str().map_or_else(|| value.len().unwrap_or(0), |text| text.chars().count());
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_end = |n: i64| if n < 0 { (length + n).max(0) } else { n };
    let backwards = bound(step).is_some_and(|step| step < 0);
    let from = bound(start).map_or(length - 1, from_end).min(length - 1).max(0);
    let to = bound(end).map_or(0, from_end);
    if backwards && (length == 0 || to > from) {
        return plain(SLICE, context! { a => value, b => 0, c => 0, d => 1 });
    }
    let kept = |value: &Value| bound(value).map_or_else(|| value.clone(), Value::from);
    plain(SLICE, context! { a => value, b => kept(start), c => kept(end), d => kept(step) })
}
