//! The link preview of a page: its title, the result of the run, and a small picture of the timeline.

use std::fmt::Write as _;

use serde_json::Value;

use super::{super::Finished, colours, escape};
use crate::{text::Lang, ui::theme::text};

/// The usual size of preview pictures.
const SIZE: (u32, u32) = (1200, 630);
const LEFT: f64 = 190.0;
const TOP: f64 = 230.0;
const RIGHT: f64 = 1160.0;
const BOTTOM: f64 = 600.0;

/// The tags of the head, from the data of the page.
pub(crate) fn tags(run: &Finished, data: &Value, lang: Lang) -> String {
    let picture = picture(run, data, lang);
    let mut address = String::from("data:image/svg+xml,");
    for byte in picture.bytes() {
        if byte.is_ascii_alphanumeric() || b" =:.,;()-".contains(&byte) {
            address.push(byte.into());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    let title = run.title();
    let tags = [
        ("og:type", "website"),
        ("og:title", title.get(lang)),
        ("og:description", run.entry.summary.get(lang)),
        ("og:image", &address),
    ];
    let tag =
        |(name, content): (&str, &str)| format!("<meta property=\"{name}\" content=\"{}\">", escape(content));
    tags.map(tag).join("\n")
}

fn picture(run: &Finished, data: &Value, lang: Lang) -> String {
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"><style>:root {{ {} }} \
         text {{ font: 600 46px sans-serif; fill: var(--text) }} .n {{ font-size: 26px }}</style>\
         <rect width=\"{width}\" height=\"{height}\" fill=\"var(--ground)\"/>",
        colours::of(crate::ui::theme::ThemeName::Dark)
    );
    let mut write = |words: String| svg.push_str(&words);
    for (n, line) in text::wrap(run.title().get(lang), 44).iter().take(3).enumerate() {
        write(format!("<text x=\"40\" y=\"{}\">{}</text>", 80 + 58 * n, escape(line)));
    }
    let list = |name: &str| data[name].as_array().map_or(&[][..], Vec::as_slice);
    let number = |value: &Value| value.as_f64();
    let end = list("ticks").last().and_then(|tick| number(&tick[0])).unwrap_or(1.0).max(1.0) + 1.0;
    let x = |column: f64| LEFT + (RIGHT - LEFT) * column.clamp(0.0, end) / end;
    let rows = (list("lanes").len() + list("truths").len()).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let tall = ((BOTTOM - TOP) / rows as f64).min(70.0);
    for overlap_span in list("clashes") {
        let (from, to) =
            (x(number(&overlap_span["a"]).unwrap_or(0.0)), x(number(&overlap_span["b"]).unwrap_or(end)));
        let (w, h) = (to - from, BOTTOM - TOP);
        write(format!(
            "<rect x=\"{from:.0}\" y=\"{TOP}\" width=\"{w:.0}\" height=\"{h}\" fill=\"var(--alarm)\"/>"
        ));
    }
    let lanes = list("lanes").iter().map(|lane| (&lane["name"], &lane["bars"], Some(&lane["client"])));
    let truths = list("truths").iter().map(|truth| (&truth["server"], &truth["spans"], None));
    for (n, (name, bars, client)) in lanes.chain(truths).enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a few rows")]
        let y = TOP + tall * n as f64;
        let fill = |client: &Value| {
            client.as_u64().map_or("var(--chrome)".to_owned(), |n| format!("var(--c{})", n % 8))
        };
        let name = text::fit(name.as_str().unwrap_or_default(), 9).into_owned();
        let ink = client.map_or("var(--text)".to_owned(), fill);
        write(format!(
            "<text class=\"n\" x=\"40\" y=\"{:.0}\" style=\"fill: {ink}\">{}</text>",
            y + tall * 0.65,
            escape(&name)
        ));
        for bar in bars.as_array().map_or(&[][..], Vec::as_slice) {
            let shade = match bar["kind"].as_str() {
                None | Some("holding") => 1.0,
                Some("sharing") => 0.6,
                Some("waiting") => 0.25,
                _ => continue,
            };
            let (from, to) = (x(number(&bar["a"]).unwrap_or(0.0)), x(number(&bar["b"]).unwrap_or(end)));
            write(format!(
                "<rect x=\"{from:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\" fill=\"{}\" opacity=\"{shade}\"/>",
                y + tall * 0.2,
                (to - from).max(2.0),
                tall * 0.6,
                fill(client.unwrap_or(&bar["client"]))
            ));
        }
    }
    svg.push_str("</svg>");
    svg
}
