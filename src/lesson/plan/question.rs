//! Questions with their names resolved. Deciding them is the verdict's business.

use super::{
    super::{
        error::{Mistake, Path},
        expr::Expr,
        question::{Ask, Choice, Right},
    },
    claims::Vocabulary,
    story::{Act, Line, Roster, TextPlan},
};

#[derive(Debug, Clone)]
pub struct AskPlan {
    pub q: TextPlan,
    /// Two to four answers.
    pub choices: Vec<ChoicePlan>,
    /// Decided after so many further steps; narrations and questions do not count.
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
    /// If this is true once the question is decided.
    When(Expr),
    Never,
}

/// How many answers a question may have: more would not fit on a small screen, nor under one hand.
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
        return Err(Mistake::new(&choices_path, format!("a question has two to four choices, not {count}")));
    }
    if ask.choices.iter().all(|choice| choice.right.is_none()) {
        return Err(Mistake::new(&choices_path, "a question that no choice answers")
            .help("give at least one choice a `right:` – an expression over what then happens, or `true`"));
    }
    if ask.after == 0 {
        return Err(Mistake::new(
            &path.key("after"),
            "a question is decided after at least one further step",
        ));
    }
    let choices = ask
        .choices
        .iter()
        .enumerate()
        .map(|(n, choice)| plan_choice(choice, &choices_path.index(n), roster, vocabulary))
        .collect::<Result<_, _>>()?;
    Ok(AskPlan { q, choices, after: ask.after })
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
        return Err(Mistake::new(path, "a choice that may be wrong has no `why`")
            .help("say why it is wrong, in `why: { en: …, zh: … }`, for the learner who chose it"));
    }
    Ok(ChoicePlan {
        says: roster.text(&choice.says, &path.key("says"))?,
        right,
        why: choice.why.as_ref().map(|why| roster.text(why, &path.key("why"))).transpose()?,
    })
}

/// Every question must be decided before the story is over.
pub(crate) fn check_decided(story: &[Line]) -> Result<(), Mistake> {
    for (n, line) in story.iter().enumerate() {
        let Act::Ask(ask) = &line.act else { continue };
        let left = story[n + 1..].iter().filter(|line| line.act.is_step()).count();
        let wanted = usize::try_from(ask.after).unwrap_or(usize::MAX);
        if left < wanted {
            return Err(Mistake::new(
                &line.path.key("ask").key("after"),
                format!("decided after {wanted} further steps, but only {left} follow that are no narration"),
            )
            .help("ask before the step that answers, or give a smaller `after`"));
        }
    }
    Ok(())
}
