//! Plans questions: checks their names. The verdict decides them.

use super::{
    super::{
        error::{Mistake, Path, finding},
        expr::Expr,
        question::{Ask, Choice, Right},
    },
    claims::Vocabulary,
    story::{Act, Roster, StoryLine, TextPlan},
};
use crate::text::both;

#[derive(Debug, Clone)]
pub struct AskPlan {
    pub q: TextPlan,
    /// Two to four answers.
    pub choices: Vec<ChoicePlan>,
    /// Explains the result to every learner, whatever they chose.
    pub why: Option<TextPlan>,
    /// The number of further steps after which the question is decided; narrations and questions do not count.
    pub after: u32,
}

#[derive(Debug, Clone)]
pub struct ChoicePlan {
    pub says: TextPlan,
    pub right: RightPlan,
    pub why: Option<TextPlan>,
}

#[derive(Debug, Clone)]
pub enum RightPlan {
    Always,
    /// Right if this expression is true when the question is decided.
    When(Expr),
    Never,
}

/// The allowed numbers of choices: more would fit neither on a small screen nor under one hand.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=4;

pub(crate) fn plan(
    ask: &Ask,
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<AskPlan, Mistake> {
    let q = roster.text(&ask.q, &path.key("q"))?;
    let choices_path = path.key("choices");
    let count = ask.choices.len();
    if !CHOICES.contains(&count) {
        return Err(Mistake::new(
            &choices_path,
            both!(
                "a question has two to four choices, not {count}",
                "一个问题要有两到四个选项，这里有 {count} 个"
            ),
        ));
    }
    if ask.choices.iter().all(|choice| choice.right.is_none()) {
        return Err(choices_path.mistake(finding!(
            "a question that no choice answers",
            "没有一个选项是正确答案",
            "give at least one choice a `right:` – an expression over what then happens, or `true`",
            "至少给一个选项写上 `right:`：关于随后发生的事的表达式，或者 `true`"
        )));
    }
    if ask.after == 0 {
        return Err(Mistake::new(
            &path.key("after"),
            both!("a question is decided after at least one further step", "问题至少要再过一步才能见分晓"),
        ));
    }
    let says = |n: usize| (ask.choices[n].says.en.trim(), ask.choices[n].says.zh.trim());
    let same = (1..ask.choices.len()).find(|n| (0..*n).any(|before| says(before) == says(*n)));
    if let Some(n) = same {
        let message = both!("two choices say the same", "两个选项的文字相同");
        let help = both!("each choice is another answer", "每个选项应是不同的答案");
        return Err(Mistake::new(&choices_path.index(n).key("says"), message).help(help));
    }
    if let Some((before, n)) = same_right(&ask.choices) {
        let (first, second) = (before + 1, n + 1);
        return Err(choices_path.index(n).key("right").mistake(finding!(
            "choices {first} and {second} are right at the same time",
            "第 {first} 个和第 {second} 个选项同时成立",
            "each `right:` says what happens where its choice is right, and nothing else",
            "每个 `right:` 只描述该选项正确时发生的事"
        )));
    }
    let choices = ask
        .choices
        .iter()
        .enumerate()
        .map(|(n, choice)| plan_choice(choice, &choices_path.index(n), roster, vocabulary))
        .collect::<Result<_, _>>()?;
    let why = ask.why.as_ref().map(|why| roster.text(why, &path.key("why"))).transpose()?;
    Ok(AskPlan { q, choices, why, after: ask.after })
}

/// Two choices that are right under the same condition, or of which one is always right.
fn same_right(choices: &[Choice]) -> Option<(usize, usize)> {
    choices.iter().enumerate().find_map(|(n, choice)| {
        let same = |other: &Choice| match (&choice.right, &other.right) {
            (Some(Right::When(source)), Some(Right::When(known))) => known == source,
            (Some(Right::Always(_)), Some(_)) | (Some(_), Some(Right::Always(_))) => true,
            _ => false,
        };
        Some((choices[..n].iter().position(same)?, n))
    })
}

fn plan_choice(
    choice: &Choice,
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<ChoicePlan, Mistake> {
    let right = match &choice.right {
        None => RightPlan::Never,
        Some(Right::Always(_)) => RightPlan::Always,
        Some(Right::When(source)) => RightPlan::When(vocabulary.expr(source, &path.key("right"))?),
    };
    if choice.why.is_none() && !matches!(right, RightPlan::Always) {
        return Err(path.mistake(finding!(
            "a choice that may be wrong has no `why`",
            "可能选错的选项没有 `why`",
            "say why it is wrong, in `why: {{ en: …, zh: … }}`, for the learner who chose it",
            "请用 `why: {{ en: …, zh: … }}` 向选了它的学员说明为什么错"
        )));
    }
    Ok(ChoicePlan {
        says: roster.text(&choice.says, &path.key("says"))?,
        right,
        why: choice.why.as_ref().map(|why| roster.text(why, &path.key("why"))).transpose()?,
    })
}

/// Checks that every question is decided before the story ends.
pub(crate) fn check_decided(story: &[StoryLine]) -> Result<(), Mistake> {
    for (n, line) in story.iter().enumerate() {
        let Act::Ask(ask) = &line.act else { continue };
        let left = story[n + 1..].iter().filter(|line| line.act.is_step()).count();
        let wanted = usize::try_from(ask.after).unwrap_or(usize::MAX);
        if left < wanted {
            return Err(line.path.key("ask").key("after").mistake(finding!(
                "decided after {wanted} further steps, but only {left} follow that are no narration",
                "要再过 {wanted} 步才见分晓，可后面除了旁白只剩 {left} 步",
                "ask before the step that answers, or give a smaller `after`",
                "请在揭晓答案的那一步之前提问，或者把 `after` 写小一些"
            )));
        }
    }
    Ok(())
}
