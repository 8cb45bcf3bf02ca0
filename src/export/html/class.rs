//! The files that a class takes home: the pages of its runs with its votes, and a page that lists them.

use std::fmt::Write as _;

use serde_json::json;

use super::{
    super::{Finished, Look, Moment},
    data,
    document::document,
    escape, page_of,
};
use crate::{
    lesson::Params,
    log::EventKind,
    printable,
    text::Text,
    ui::{state::classroom::KeptRun, words},
};

#[derive(Debug, Clone)]
pub struct ClassPage {
    pub file: String,
    pub title: Text,
    pub result: Text,
}

/// The page of a class's run, and its entry in the list.
pub fn class_page(run: &KeptRun, params: Params, look: &Look) -> Result<(String, ClassPage), Text> {
    let finished = Finished {
        entry: run.entry.clone(),
        variant: run.variant,
        params,
        log: run.log.clone(),
        // In free play there is no verdict.
        verdict: run.verdict.clone(),
    };
    let mut data = data::of((&finished).into(), Moment::End.resolve(&run.log)?, look);
    let answers = &run.answers;
    data["votes"] = json!(answers.votes);
    let broken = answers.broken.as_ref().map(|broken| {
        Text::from_fn(|lang| {
            let broke = words::broke_it(lang, broken.moves);
            format!("{broke}{}{}", lang.colon(), broken.says.get(lang))
        })
    });
    let breach =
        || run.log.events().iter().rposition(|event| matches!(event.kind, EventKind::Breached { .. }));
    let remarks = answers.moves.iter().map(|(event, says)| (*event, says));
    let remarks = remarks.chain(broken.as_ref().and_then(|says| Some((breach()?, says))));
    if let Some(story) = data["story"].as_array_mut() {
        story.extend(remarks.map(|(event, says)| json!({"e": event, "says": says})));
        story.sort_by_key(|entry| entry["e"].as_u64());
    }
    let outcome = run
        .verdict
        .as_ref()
        .map(|verdict| Text::from_fn(|lang| words::outcome(verdict.outcome).get(lang).to_owned()));
    let kept = ClassPage {
        file: String::new(),
        title: finished.title(),
        result: broken.or(outcome).unwrap_or_else(|| words::NOT_FINISHED.text(&[])),
    };
    Ok((printable::lines(&page_of(&finished, data, look)).into_owned(), kept))
}

/// The page that lists the runs of a class.
pub fn class_index(runs: &[ClassPage], look: &Look) -> String {
    let lang = look.lang;
    let mut list = String::new();
    for ClassPage { file, title, result } in runs {
        let [file, title, result] = [file, title.get(lang), result.get(lang)].map(escape);
        // Writing to a String cannot fail.
        let _ = writeln!(list, "<li><a href=\"{file}\">{title}</a><br>{result}</li>");
    }
    let style = "body { max-width: 44rem } li { margin: .8em 0 }";
    document(
        words::CLASS_RUNS.get(look.lang),
        style,
        &format!("<ol>\n{list}</ol>\n"),
        (look.lang, look.theme),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{ClassPage, class_index, class_page};
    use crate::{
        export::{Look, tests::misdelete},
        ui::state::classroom::{KeptRun, RunAnswers, protocol::Broken},
    };

    #[test]
    fn a_class_page_shows_votes_and_breaches_and_escapes_markup() {
        let run = misdelete();
        let broken = Broken { moves: Some(7), says: "A </script> and B hold it.".into() };
        let kept = KeptRun {
            entry: run.entry.clone(),
            variant: 0,
            log: run.log.clone(),
            verdict: None,
            answers: RunAnswers {
                votes: BTreeMap::from([(3, vec![1, 20])]),
                moves: vec![(1, "The class chose (20 of 21): A moves".into())],
                broken: Some(broken),
            },
        };
        let (page, kept) = class_page(&kept, run.params.clone(), &Look::default()).expect("a page");
        for words in [r#""votes":{"3":[1,20]}"#, r#""verdict":null"#, "The class chose (20 of 21)"] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains("A </script>"), "text, not markup");
        assert!(kept.result.en.starts_with("BROKEN BY THIS CLASS IN 7 MOVES: A "), "{:?}", kept.result);
        let index = class_index(&[ClassPage { file: "01-a.html".to_owned(), ..kept }], &Look::default());
        assert!(index.contains("<a href=\"01-a.html\">") && !index.contains("</script>"), "{index}");
    }
}
