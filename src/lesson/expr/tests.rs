use std::collections::{BTreeSet, HashMap};

use minijinja::Value;
use proptest::{prelude::*, sample::select};

use super::{Expr, FILTERS, OWN_FILTERS, Scope, TESTS, Template, split_words};

fn parse(source: &str) -> Result<Expr, String> {
    Ok(Expr::parse(source)?)
}

fn scope(pairs: &[(&str, Value)]) -> Value {
    Scope::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()).value()
}

#[test]
fn a_template_keeps_text_and_fills_in_values() {
    let template = Template::parse("SET ${key} ${ttl // 3} $${x}").expect("parses");
    let names = scope(&[("key", "lock".into()), ("ttl", 30_000.into())]);
    assert_eq!(template.render(&names).as_deref(), Ok("SET lock 10000 ${x}"));
    assert_eq!(template.names().into_iter().collect::<Vec<_>>(), ["key", "ttl"]);
}

#[test]
fn the_docs_name_every_filter_and_test() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lessons.md"));
    let named = |after: &str| -> BTreeSet<&str> {
        let (_, rest) = page.split_once(after).expect(after);
        let (list, _) = rest.split_once(".\n").expect("the end of a list");
        list.split('`').skip(1).step_by(2).collect()
    };
    let (_, table) = page.split_once("| filter | example | gives |\n|---|---|---|\n").expect("a table");
    let mut filters = named("\nThe others: ");
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let row = row.replace(r"\|", "\u{1}");
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        let example = cells[2].trim_matches('`');
        let gives = parse(example).and_then(|expr| expr.eval(scope(&[]))).map(|value| value.to_string());
        assert_eq!(gives.as_deref(), Ok(cells[3].trim_matches('`')), "{example}");
        let known = FILTERS.iter().filter(|name| cells[1].contains(&format!("`{name}`")));
        filters.extend(known);
    }
    filters.extend(OWN_FILTERS.iter().filter(|name| page.contains(&format!("`{name}`"))));
    assert_eq!(filters, FILTERS.iter().copied().collect());
    let is_name = |name: &&str| name.chars().all(char::is_alphanumeric);
    let tests = TESTS.iter().copied().filter(is_name).collect();
    assert_eq!(named("`value is not test`: "), tests);
}

#[test]
fn an_unknown_name_is_an_error_and_names_the_expression() {
    let error = Template::parse("${nobody}").expect("parses").render(&scope(&[])).expect_err("unknown");
    assert!(error.contains("nobody"), "{error}");
}

#[test]
fn conditions_compare_replies() {
    let condition = parse("reply == 'OK' and left|int > 0").expect("parses");
    let yes = scope(&[("reply", "OK".into()), ("left", "1".into())]);
    let no = scope(&[("reply", Value::from(())), ("left", "1".into())]);
    assert!(condition.eval(yes).expect("evaluates").is_true());
    assert!(!condition.eval(no).expect("evaluates").is_true());
    assert!(parse("reply ==").expect_err("broken").contains("reply =="));
}

#[test]
fn words_are_split_outside_quotes_and_expressions() {
    let words = split_words("SET lock ${ a + 'x y' } \"two words\" 'x'").expect("splits");
    assert_eq!(words, ["SET", "lock", "${ a + 'x y' }", "two words", "x"]);
    assert!(split_words("GET 'open").is_err());
    assert!(split_words("GET ${open").is_err());
}

#[test]
fn filters_and_slices_make_what_authors_expect() {
    for (source, text) in [
        ("${3000|duration} ${200|duration} ${1500|duration} ${120000|duration}", "3 s 200 ms 1.5 s 2 min"),
        ("${1500|duration_zh}，${120000|duration_zh}，${3600000|duration_zh}", "1.5 秒，2 分钟，1 小时"),
        ("${'/l/guid-n-0000000012'|suffix}", "12"),
        ("${['b-0000000003', 'c-0000000001']|by_suffix|join(' ')}", "c-0000000001 b-0000000003"),
        (
            "${['a-0000000001', 'b-0000000004', 'x', 'c-0000000003']|before('/l/b-0000000004')}",
            "c-0000000003",
        ),
        ("${['a-0000000001', 'b-0000000004']|before('/l/a-0000000001') is none}", "True"),
        // A negative step reverses, and an empty value stays empty.
        ("${[1, 2, 3][::-1]} ${'abc'[::-1]} ${[][::-1]} ${1 if [][::-1] else 0}", "[3, 2, 1] cba [] 0"),
    ] {
        let rendered = Template::parse(source).expect("parses").render(&scope(&[]));
        assert_eq!(rendered.as_deref(), Ok(text), "{source}");
    }
}

#[test]
fn an_inner_frame_hides_an_outer_name_until_it_ends() {
    let mut scope = Scope::new(HashMap::from([("x".to_owned(), Value::from(1))]));
    scope.enter(HashMap::from([("x".to_owned(), Value::from(2))]));
    assert_eq!(scope.get("x"), Some(&Value::from(2)));
    scope.leave();
    assert_eq!(scope.get("x"), Some(&Value::from(1)));
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC{0,40}") {
        let _ = Template::parse(&text);
        let _ = split_words(&text);
        let _ = parse(&text);
    }

    #[test]
    fn words_without_quotes_come_back_joined(words in proptest::collection::vec("[a-zA-Z0-9:/_-]{1,8}", 0..6)) {
        prop_assert_eq!(split_words(&words.join("  ")), Ok(words));
    }
}

/// The kinds of expressions that overflow the stack if nothing bounds them, each with `n` repetitions.
fn long(n: usize) -> Vec<String> {
    vec![
        format!("1{}", "+1".repeat(n)),
        format!("1{}", "*1".repeat(n)),
        format!("1{}", "**1".repeat(n)),
        format!("{}1", "not ".repeat(n)),
        format!("{}1", "- ".repeat(n)),
        format!("x{}", "[0]".repeat(n)),
        format!("x{}", ".y".repeat(n)),
        format!("x{}", "()".repeat(n)),
        format!("x{}", "[::1]".repeat(n)),
        format!("'a'{}", "|upper".repeat(n)),
        format!("1{}", " is number".repeat(n)),
        format!("1{}", " and 1".repeat(n)),
        format!("1{}", " or 1".repeat(n)),
        format!("1{}", " < 1".repeat(n)),
        format!("'a'{}", "~'a'".repeat(n)),
        format!("{}1", "1 if 0 else ".repeat(n)),
        format!("1{}", " if 1".repeat(n)),
        format!("{}1{}", "(".repeat(n), ")".repeat(n)),
        format!("{}1{}", "[".repeat(n), "]".repeat(n)),
        format!("{}1{}", "{1:".repeat(n), "}".repeat(n)),
        format!("{}1{}", "range(".repeat(n), ")".repeat(n)),
        format!("{}1{}", "x[".repeat(n), "]".repeat(n)),
        "'".repeat(n | 1),
        "(".repeat(n),
        "é".repeat(n),
    ]
}

/// Runs on a stack smaller than that of any thread of Lockstep, in a build without optimization.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(test);
    thread.expect("a thread").join().expect("no panic and no overflow");
}

#[test]
fn long_or_deep_expressions_are_refused_and_allowed_ones_need_little_stack() {
    on_a_small_stack(|| {
        for text in long(50_000).iter().chain(&long(1_100)) {
            let error = parse(text).expect_err("too long");
            assert!(error.len() < 300, "{error}");
        }
        for n in [1, 11, 12, 23, 24, 40, 60, 100, 200] {
            for text in long(n) {
                if let Ok(expr) = parse(&text) {
                    let _ = expr.names();
                    let _ = expr.eval(scope(&[]));
                }
            }
        }
    });
}

#[test]
fn every_way_to_make_a_large_value_is_bounded() {
    let names = scope(&[("text", "x".repeat(100_000).into())]);
    for text in [
        "'x' * 100000000",
        "100000000 * 'x'",
        "[0] * 100000000",
        "(0,) * 100000000",
        "[[[0] * 1000] * 1000] * 1000",
        "([[[0] * 1000] * 1000] * 1000)|string",
        "([[[0] * 1000] * 1000] * 1000) == [1]",
        "[text, text, text, text, text, text, text, text, text, text, text]",
        "text ~ text ~ text ~ text ~ text ~ text ~ text ~ text ~ text ~ text ~ text",
        "text + text + text + text + text + text + text + text + text + text + text",
        "text|replace('x', 'xxxxxxxxxxxx')",
        "text|replace('', text)",
        "range(100000)|join(text)",
        "range(100000)|map('replace', '1', text)|list",
        "range(100000)|map('string')|map('center', 9)",
        "'a'|indent(100000000000, true)",
        "'a'|indent(width=100000000000, first=true)",
        "[1]|batch(100000000000, 1)",
        "[1]|batch(1000000, 1)",
        "[1]|slice(100000000000, 1)",
        "[1]|slice(1000000)",
        "'%1000000000d'|format(1)",
        "'%*d'|format(1000000000, 1)",
        "'%.1000000000f'|format(1)",
        "'%s%s%s%s%s%s%s%s%s%s%s%s'|format(text)",
        "'%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s%(a)s'|format(a=text)",
        "[text, text, text, text, text, text, text, text, text, text]|sum(start='')",
        "text|list|sum(start='')",
        "range(100000)|map(attribute='a')|sort(attribute='a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p')",
        "range(100000)|list|list|list|list|list|list|list",
        "range(100000)|select('in', range(100000)|list)|list",
        "dict(a=text, b=text, c=text, d=text, e=text, f=text, g=text, h=text, i=text, j=text, k=text)",
        "range(100000)|zip(range(100000))|list",
    ] {
        let started = std::time::Instant::now();
        let result = parse(text).and_then(|expr| expr.eval(names.clone()));
        let error = result.expect_err(text);
        assert!(error.len() < 300, "{error}");
        assert!(started.elapsed() < std::time::Duration::from_secs(2), "{text}: {:?}", started.elapsed());
    }
}

#[test]
fn stored_values_do_not_build_on_one_another() {
    on_a_small_stack(|| {
        for (start, step) in [
            ("[1]", "[x]"),
            ("[1]", "x[0:]"),
            ("[1]", "x + [1]"),
            ("[1]", "x|chain([1])"),
            ("[1]", "[x, x]"),
            ("'x'", "x ~ x"),
            ("{'a': 1}", "{'a': x}"),
            ("{'a': 1}", "x|items|list"),
            ("{'a': 1}", "x|chain({'a': x})"),
            ("namespace(a=1)", "namespace(a=x)"),
            ("(1,)", "x + (1,)"),
        ] {
            let mut x = parse(start).and_then(|expr| expr.eval(scope(&[]))).expect(start);
            let step = parse(step).expect(step);
            for _ in 0..2_000 {
                match step.eval(scope(&[("x", x.clone())])) {
                    Ok(next) => x = next,
                    Err(_) => break,
                }
            }
            drop(x.to_string());
        }
    });
}

#[test]
fn filters_and_tests_that_do_not_exist_are_named() {
    for (text, wanted) in [
        ("lease|seconds", "there is no filter `seconds`"),
        ("lease|duratoin", "did you mean `duration`?"),
        ("[1]|map('nothing')", "there is no filter `nothing`"),
        ("[1]|select('nothing')", "there is no test `nothing`"),
        ("[1]|selectattr('a', 'nothing')", "there is no test `nothing`"),
        ("1 is nothing", "there is no test `nothing`"),
        ("a = 1", "to compare, write `==`"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(wanted), "{error}");
    }
    for text in
        ["[1]|map('string')", "[1]|select|list", "a is not none", "[{'a': 1}]|selectattr('a', 'eq', 1)"]
    {
        parse(text).expect(text);
    }
}

/// An environment without bounds, for comparison.
fn unbounded() -> minijinja::Environment<'static> {
    let mut environment = minijinja::Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment
}

/// Expressions that are small enough for no bound to apply.
fn small() -> impl Strategy<Value = String> {
    let leaves = [
        "1.5", "0x1f", "1_000", "2e3", "'ab'", "n", "s", "l", "m.a", "m.no", "nobody", "true", "none", "[]",
        "()",
    ];
    let texts = [leaves.as_slice(), &["'d\\'e'"]].concat();
    let leaf = prop_oneof![1 => "[0-9]{1,3}".prop_map(|n| n), 16 => select(texts).prop_map(str::to_owned)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operator = select(vec![
            "+", "-", "*", "/", "//", "%", "**", "~", "and", "or", "==", "!=", "<", "<=", ">", ">=", "in",
            "not in",
        ]);
        let short = [
            "|upper", "|length", "|int", "|first", "|last", "|list", "|sum", "|sort", "|unique", "|reverse",
            "|string", "[0]", "[1:]", "[::-1]", "[:2]", ".a", ".0",
        ];
        let long = [
            "|join('-')",
            "[-1:0:-2]",
            "|default(1)",
            "|batch(2, 0)|list",
            "|replace('a', 'b')",
            "|items|list",
            "|map('string')|list",
            " is number",
            " is not string",
            " is divisibleby 3",
            " is in [1, 2]",
        ];
        let filter = select([short.as_slice(), &long].concat());
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (inner.clone(), filter).prop_map(|(a, filter)| format!("{a}{filter}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("not {a}")),
            inner.clone().prop_map(|a| format!("-{a}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("{a} if {b} else {c}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b},]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}, {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{'k': {a}, {b}: 1}}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("LOCKSTEP_CAMPAIGN").is_some() { 200_000 } else { 2_000 }))]

    /// Bounds change no small expression: its value or the kind of its error is that of `minijinja`.
    #[test]
    fn bounds_do_not_change_small_expressions(text in small()) {
        let names = scope(&[
            ("n", 7.into()),
            ("s", "abc".into()),
            ("l", Value::from(vec![3, 1, 2])),
            ("m", Value::from(std::collections::BTreeMap::from([("a", 1)]))),
        ]);
        let plain = unbounded();
        // Where a value is expected, as in `-not x`, `minijinja` takes an operator for a name; here that is a mistake.
        let names_an_operator = plain.compile_expression(&text).is_ok_and(|expr| {
            let operators = ["not", "and", "or", "if", "else", "is", "in"];
            expr.undeclared_variables(false).iter().any(|name| operators.contains(&name.as_str()))
        });
        // `minijinja` panics at a backward slice of an empty list, or treats it as true.
        if names_an_operator || text.contains(":-") {
            return Ok(());
        }
        let expected = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let value = plain.compile_expression(&text).and_then(|expr| expr.eval(names.clone()));
            value.map(|value| value.to_string())
        }));
        // An expression at which `minijinja` panics, such as `[][::-1]`, has a value here.
        let Ok(expected) = expected else {
            let _ = parse(&text).and_then(|bounded| bounded.eval(names)).map(|value| value.to_string());
            return Ok(());
        };
        let bounded = parse(&text);
        match (expected, bounded) {
            (Err(_), Err(_)) => {}
            (expected, Ok(bounded)) => match (expected, bounded.compiled.eval(names.clone())) {
                (Ok(expected), Ok(value)) => {
                    prop_assert_eq!(&expected, &value.to_string(), "{}", &text);
                    let kept = bounded.eval(names).map(|value| value.to_string());
                    prop_assert_eq!(kept, Ok(expected), "{}", &text);
                }
                // What a filter cannot do with a missing value is told apart here.
                (Err(_), Err(error)) if error.kind() == minijinja::ErrorKind::UndefinedError => {}
                (Err(expected), Err(error)) => prop_assert_eq!(expected.kind(), error.kind(), "{}", text),
                // A huge repetition of an empty value is empty, but its bound assumes that it is large.
                (Ok(_), Err(error)) => {
                    let bound = error.detail().is_some_and(|detail| detail.contains("more than"));
                    prop_assert!(bound, "{text}: {error:?}");
                }
                (expected, found) => prop_assert!(false, "{text}: {expected:?} became {found:?}"),
            },
            // An unknown filter is a mistake here, even if it would never be reached.
            (Ok(_), Err(error)) => prop_assert!(error.contains("there is no "), "{text}: {error}"),
        }
    }

    /// No sequence of tokens causes a panic, and evaluation ends soon.
    #[test]
    fn arbitrary_tokens_neither_panic_nor_hang(tokens in proptest::collection::vec(select(vec![
        "1", "99999999999", "0x", "1e", "1.5e9", "'x'", "\"", "x", "range", "(", ")", "[", "]", "{", "}", ",", ":", "|", ".", "=", "==",
        "+", "-", "*", "/", "//", "%", "**", "~", "not", "and", "or", "in", "is", "if", "else", "none", "upper", "list", "join",
        "batch", "slice", "indent", "format", "replace", "map", "number", "-9223372036854775808", "9223372036854775807",
    ]), 0..40)) {
        let text = tokens.join(" ");
        let started = std::time::Instant::now();
        if let Ok(expr) = parse(&text) {
            let _ = expr.names();
            let _ = expr.eval(scope(&[("x", "y".into())]));
        }
        prop_assert!(started.elapsed() < std::time::Duration::from_secs(2), "{text}");
    }
}
