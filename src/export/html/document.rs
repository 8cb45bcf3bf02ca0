//! A page without a script, with the common head and colours.

use super::{MARK, colours, escape};
use crate::{printable, text::Lang, ui::theme::ThemeName};

/// A page with this title. Style and body are written by Lockstep; data in the body must be escaped.
pub fn document(title: &str, style: &str, body: &str, (lang, theme): (Lang, ThemeName)) -> String {
    let title = escape(title);
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{MARK}\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<title>{title}</title>\n<style>{}\n\
         body {{ margin: 2rem auto; padding: 0 1rem; background: var(--ground); color: var(--text); \
         font: 1.1rem/1.5 system-ui, sans-serif }} a, h2 {{ color: var(--accent) }} {style}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n",
        colours::variables(theme)
    );
    printable::lines(&page).into_owned()
}
