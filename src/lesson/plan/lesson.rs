//! Checks what belongs to the lesson as a whole: names, texts, libraries, metrics, fixes.

use super::{notes, story};
use crate::{
    lesson::{
        Expect, LabKind, Lesson, Libraries, Variant,
        error::{Mistake, MistakeSpan, Mistakes, Path, finding},
        expr::Template,
        has_word,
    },
    log::Product,
    text::{Text, both},
};

/// Whether the text is a valid name of a lesson or variant.
pub fn is_well_formed(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(allowed)
}

/// Checks the names of the lesson and its variants, because files are named after them.
pub(super) fn check_names(lesson: &Lesson) -> Result<(), Mistake> {
    let root = Path::root();
    let id = &lesson.id;
    if !is_well_formed(id) {
        return Err(root.key("id").mistake(finding!(
            "`{id}` cannot be the name of a lesson",
            "`{id}` 不能用作课程名",
            "use lower-case letters, digits and hyphens, such as oversell-twice",
            "请用小写字母、数字和连字符，例如 oversell-twice"
        )));
    }
    if let Some(n) = lesson.after.iter().position(|before| before == id) {
        let message = both!("a lesson cannot come after itself", "课程不能排在自己后面");
        return Err(Mistake::new(&root.key("after").index(n), message)
            .help(both!("name the lessons to take before it", "请写应该先学的课程")));
    }
    if let Some(n) = lesson.formerly.iter().position(|before| before == id) {
        return Err(root.key("formerly").index(n).mistake(finding!(
            "`{id}` is what the lesson is called now",
            "`{id}` 就是这节课现在的 id",
            "`formerly` lists the ids that it had before; without one, leave it out",
            "`formerly` 写的是以前用过的 id；没有就请去掉"
        )));
    }
    let Some(name) = lesson.variants.keys().find(|name| !is_well_formed(name)) else { return Ok(()) };
    let message = both!("`{name}` cannot name a variant", "`{name}` 不能用作方案名");
    let mistake = Mistake::new(&root.key("variants").key(name), message);
    Err(Mistake { span: MistakeSpan::Key, ..mistake }
        .help(both!("use lower-case letters, digits and hyphens", "请用小写字母、数字和连字符")))
}

pub(super) fn check_lesson(lesson: &Lesson) -> Result<(), Mistakes> {
    check_names(lesson)?;
    let root = Path::root();
    if lesson.variants.is_empty() {
        let message = both!("a lesson needs at least one variant", "一节课至少要有一个方案（variant）");
        return Err(Mistake::new(&root.key("variants"), message).into());
    }
    let mut found = Mistakes::default();
    found.keep(lesson.settings.check(lesson.lab, &root.key("settings")));
    found.keep(check_libraries(&lesson.libraries, &root.key("libraries")));
    found.keep(check_library_scripts(lesson, &root.key("library_scripts")));
    found.keep(check_fixes(lesson));
    found.keep(notes::check(lesson));
    let texts = [("title", &lesson.title), ("summary", &lesson.summary), ("intro", &lesson.intro)];
    let texts = texts.map(|(name, text)| (root.key(name), name, text));
    found.each(&texts, |(path, name, text)| {
        if text.en.trim().is_empty() || text.zh.trim().is_empty() {
            let message = both!("`{name}` is empty in one language", "`{name}` 有一种语言是空的");
            return Err(Mistake::new(path, message));
        }
        check_template(path, text)
    });
    for (name, variant) in &lesson.variants {
        let at = Path::of_variant(name);
        found.keep(check_template(&at.key("title"), &variant.title));
        found.keep(check_template(&at.key("lesson"), &variant.lesson));
    }
    found.or(())
}

fn check_template(path: &Path, text: &Text) -> Result<(), Mistake> {
    [("en", &text.en), ("zh", &text.zh)].into_iter().try_for_each(|(lang, source)| {
        Template::parse(source).map(drop).map_err(|error| Mistake::new(&path.key(lang), error))
    })
}

/// Checks the names and versions of libraries, because they become arguments of `pip` and `npm`.
fn check_libraries(libraries: &Libraries, path: &Path) -> Result<(), Mistake> {
    let is_plain = |word: &str, more: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric() || more.contains(c))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c) || more.contains(c))
    };
    for (language, libraries) in libraries {
        for (name, version) in libraries {
            if is_plain(name, "@/") && is_plain(version, "") && version.contains(|c: char| c.is_ascii_digit())
            {
                continue;
            }
            let language = language.id();
            let path = path.key(language).key(name);
            return Err(path.mistake(finding!(
                "no library and version: `{name}` `{version}`",
                "不是库名和版本号：`{name}` `{version}`",
                "name the library and one version of it, such as `{{ redis: 8.1.0 }}`",
                "请写库名和一个确定的版本，例如 `{{ redis: 8.1.0 }}`"
            )));
        }
    }
    Ok(())
}

fn check_library_scripts(lesson: &Lesson, path: &Path) -> Result<(), Mistake> {
    for (name, hash) in &lesson.library_scripts {
        let path = path.key(name);
        if lesson.scripts.contains_key(name) {
            let message = both!("`{name}` is in `scripts`, too", "`{name}` 也写在 `scripts` 里");
            return Err(Mistake::new(&path, message)
                .help(both!("give the library's script another name", "请给库的脚本另取一个名字")));
        }
        let is_hash = (8..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            let message =
                both!("`{hash}` is not the beginning of a script's SHA-1", "`{hash}` 不是脚本 SHA-1 的开头");
            return Err(Mistake::new(&path, message).help(both!(
                "write at least eight hexadecimal digits, in quotes: without a name, a run shows them",
                "请写至少八位十六进制数字，加上引号：没有名字时，运行里显示的就是它们"
            )));
        }
    }
    Ok(())
}

/// The largest number of variants in a lesson. Each is planned before the catalogue is shown.
const MOST_VARIANTS: usize = 32;

/// Checks that each `fixes` names another variant that shows a failure.
fn check_fixes(lesson: &Lesson) -> Result<(), Mistake> {
    for (name, variant) in &lesson.variants {
        let Some(fixed) = &variant.fixes else { continue };
        let path = Path::of_variant(name).key("fixes");
        let Some(other) = lesson.variants.get(fixed) else {
            let known = lesson.variants.keys().map(String::as_str);
            return Err(Mistake::unknown(&path, both!("variant", "方案"), fixed, known));
        };
        if (variant.expects(), other.expects()) == (Expect::Prevented, Expect::Shown) {
            continue;
        }
        let message = both!("`{name}` cannot be the fix of `{fixed}`", "`{name}` 不能作为 `{fixed}` 的修复");
        return Err(Mistake::new(&path, message).help(both!(
            "`fixes` stands in a variant with `expect: prevented` and names one with `expect: shown`",
            "`fixes` 写在 `expect: prevented` 的方案里，指向一个 `expect: shown` 的方案"
        )));
    }
    Ok(())
}

/// Checks the texts into which only parameters can be inserted.
pub(super) fn check_fixed_texts(
    lesson: &Lesson,
    (variant, at): (&Variant, &Path),
    roster: &story::Roster<'_>,
) -> Result<(), Mistake> {
    let root = Path::root();
    let of_lesson = [("title", &lesson.title), ("summary", &lesson.summary), ("intro", &lesson.intro)];
    let of_lesson = of_lesson.into_iter().chain(lesson.notes.iter().map(|notes| ("notes", notes)));
    let own = [("title", &variant.title), ("lesson", &variant.lesson)];
    let mut texts = own.map(|text| (at, text)).into_iter().chain(of_lesson.map(|text| (&root, text)));
    texts.try_for_each(|(at, (field, text))| roster.check_fixed_text(text, &at.key(field)))
}

/// Checks that a variant's lab has the metrics, and their names: those of ZooKeeper begin with `zk_`, and no other server has such.
pub(super) fn check_metrics(lesson: &Lesson, lab: LabKind, at: &Path) -> Result<(), Mistake> {
    if !lab.has(lesson.lab.product()) && !lesson.metrics.is_empty() {
        return Err(at.key("lab").mistake(finding!(
            "this lab cannot give the lesson's `metrics`",
            "这个 lab 给不出本课的 `metrics`",
            "servers of another product count other things: make it a lesson of its own",
            "别的产品的服务器统计的是别的计数器：请另写一节课"
        )));
    }
    let of_zookeeper = lesson.lab.product() == Product::Zookeeper;
    for (n, name) in lesson.metrics.iter().enumerate() {
        let path = Path::root().key("metrics").index(n);
        if lesson.metrics[..n].contains(name) {
            let message = both!("`{name}` is here twice", "`{name}` 写了两遍");
            return Err(Mistake::new(&path, message).help(both!("leave one of both out", "两者去掉一个")));
        }
        if has_word("zk_version zk_server_state", name) {
            let message = both!("`{name}` is a text and counts nothing", "`{name}` 是文字，不是计数器");
            return Err(Mistake::new(&path, message).help(both!(
                "such as `zk_packets_sent`; who leads is told by `role('zk1')`",
                "例如 `zk_packets_sent`；谁是 leader 请用 `role('zk1')`"
            )));
        }
        if name.starts_with("zk_") != of_zookeeper {
            let product = lesson.lab.product().traits().name;
            let message = both!("{product} has no metric `{name}`", "{product} 没有 `{name}` 这个计数器");
            return Err(Mistake::new(&path, message).help(if of_zookeeper {
                both!("such as `zk_packets_sent`, a line of its `mntr`", "例如 `mntr` 里的 `zk_packets_sent`")
            } else {
                both!(
                    "such as `total_commands_processed`, a field of Redis' `INFO`",
                    "例如 Redis `INFO` 里的 `total_commands_processed`"
                )
            }));
        }
    }
    Ok(())
}

pub(super) fn check_numbers(lesson: &Lesson) -> Result<(), Mistake> {
    if lesson.minutes == 0 {
        let message = both!("a lesson takes at least one minute", "一节课至少要一分钟");
        return Err(Mistake::new(&Path::root().key("minutes"), message));
    }
    let Some(name) = lesson.variants.keys().nth(MOST_VARIANTS) else { return Ok(()) };
    let message =
        both!("a lesson may have at most {MOST_VARIANTS} variants", "一节课最多有 {MOST_VARIANTS} 个方案");
    Err(Mistake::new(&Path::of_variant(name), message))
}
