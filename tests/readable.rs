//! Every step of every carried lesson on a screen of 100 columns and 30 rows, in both languages: what is told can be
//! read whole, and nothing leaves the screen.

mod screens_support;
mod staged;

use crossterm::event::KeyCode;
use lockstep::{
    lesson::{Library, Params, Scenario},
    recording::carried,
    run::session::Update,
    text::Lang,
    ui::theme::text::width,
};
use screens_support::Stand;

const SIZE: (u16, u16) = (100, 30);

#[test]
fn every_text_of_every_step_can_be_read_whole() {
    let mut cut = Vec::new();
    let mut steps = 0;
    for loaded in &Library::carried().lessons {
        for variant in loaded.lesson.variants.keys() {
            let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
            let log = carried::open(&scenario).expect("a recording").log;
            for lang in [Lang::En, Lang::Zh] {
                let mut stand = Stand::opened(lang, SIZE);
                stand.events(log.events().to_vec());
                stand.update(Update::Stepped { ended: false });
                stand.key(KeyCode::End);
                let mut before = Vec::new();
                loop {
                    let rows = stand.rows();
                    if rows == before {
                        break;
                    }
                    steps += 1;
                    assert!(
                        rows.iter().all(|row| width(row) == usize::from(SIZE.0)),
                        "{rows:#?}"
                    );
                    if rows
                        .iter()
                        .any(|row| row.contains("▼ more") || row.contains("▼ 更多"))
                    {
                        cut.push(format!(
                            "{} · {variant} ({lang}):\n{}",
                            loaded.lesson.id,
                            rows[..9].join("\n")
                        ));
                    }
                    before = rows;
                    stand.key(KeyCode::Left);
                }
            }
        }
    }
    assert!(steps > 500, "only {steps} steps were looked at");
    assert!(
        cut.is_empty(),
        "{} texts do not fit:\n{}",
        cut.len(),
        cut.join("\n\n")
    );
}
