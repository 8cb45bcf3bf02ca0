//! Every step of every carried lesson on a screen of 100 columns and 30 rows, in both languages: all text can be read
//! whole, and nothing leaves the screen.

use crossterm::event::KeyCode;
use lockstep::{recording::carried, run::session::Update};

use crate::{
    scenarios::all_carried,
    stand::{LANGS, Stand},
};

const SIZE: (u16, u16) = (100, 30);

#[test]
fn every_text_of_every_step_can_be_read_whole() {
    let mut cut = Vec::new();
    let mut steps = 0;
    for scenario in all_carried() {
        let log = carried::open(&scenario).expect("a recording").log;
        for lang in LANGS {
            let mut stand = Stand::opened(lang, SIZE);
            stand.events(log.events().to_vec());
            stand.update(Update::Stepped { ended: false });
            stand.key(KeyCode::End);
            let mut before = Vec::new();
            loop {
                let rows = stand.assert_whole();
                if rows == before {
                    break;
                }
                steps += 1;
                assert!(!rows.concat().contains('`'), "code has a style of its own: {rows:#?}");
                // Only the frame below the story is checked: the servers' contents may be longer, and are scrolled.
                let frame = rows.iter().find(|row| row.starts_with('╰')).map_or("", String::as_str);
                if frame.contains("▼ more") || frame.contains("▼ 更多") {
                    cut.push(format!(
                        "{} · {} ({lang}):\n{}",
                        scenario.loaded.lesson.id,
                        scenario.variant,
                        rows[..9].join("\n")
                    ));
                }
                before = rows;
                stand.key(KeyCode::Left);
            }
        }
    }
    assert!(steps > 500, "only {steps} steps were looked at");
    assert!(cut.is_empty(), "{} texts do not fit:\n{}", cut.len(), cut.join("\n\n"));
}

#[test]
fn every_counter_has_a_name_in_both_languages() {
    let mut counters = 0;
    for scenario in all_carried() {
        for counter in &scenario.counters {
            counters += 1;
            let title = scenario.counter_titles.iter().find(|known| known.name == *counter);
            let says = title.map(|known| known.title.zh.as_str()).unwrap_or_default();
            assert!(!says.is_ascii(), "{}: {counter} has no Chinese title", scenario.loaded.lesson.id);
        }
    }
    assert!(counters > 50, "{counters}");
}
