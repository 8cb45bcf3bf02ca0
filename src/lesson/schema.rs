//! The JSON Schema of the grammar, with which editors complete and check lessons while they are written.

use super::Lesson;

/// Returns the content of `assets/lesson.schema.json`: pretty-printed JSON with a final newline.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Lesson);
    schema.insert("title".to_owned(), "A Lockstep lesson".into());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kept_schema_is_the_grammar() {
        let kept = include_str!("../../assets/lesson.schema.json");
        assert_eq!(kept, super::schema(), "run `cargo run -- schema > assets/lesson.schema.json`");
    }
}
