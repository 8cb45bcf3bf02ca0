//! Which key triggers which action, including the user's key bindings.

use super::{Action, Chord, KeyScope, Row, TABLE, row};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    /// Indexed like the rows of [`TABLE`].
    chords: Vec<Vec<Chord>>,
}

/// The keys that a user binds to one action, each with a mark that locates it in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings<M> {
    pub row: usize,
    pub chords: Vec<(Chord, M)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint<M> {
    pub mark: M,
    pub message: String,
    pub help: String,
}

impl Default for KeyMap {
    fn default() -> Self {
        Self { chords: TABLE.iter().map(defaults).collect() }
    }
}

fn defaults(row: &Row) -> Vec<Chord> {
    // A test parses every key of the table.
    let read = |key: &&str| key.parse().expect("the table's keys are keys");
    row.keys.iter().map(read).collect()
}

impl KeyMap {
    /// Applies the user's bindings to the table. Returns the map and the bindings that were refused; an action whose
    /// bindings are all refused keeps its default keys. A key bound to one action is taken from any action that has it
    /// only by default.
    pub fn with<M: Copy>(wishes: &[Bindings<M>]) -> (Self, Vec<Complaint<M>>) {
        let mut complaints = Vec::new();
        let mut given: Vec<Option<Vec<(Chord, M)>>> = vec![None; TABLE.len()];
        for wish in wishes {
            let kept = granted(wish, &given, &mut complaints);
            // If no key of a binding is granted, its action keeps its default keys; an empty list means no key.
            if !kept.is_empty() || wish.chords.is_empty() {
                given[wish.row] = Some(kept);
            }
        }
        // If a binding takes an action's last key, it is refused and the action keeps its keys. The refused binding's
        // action may in turn be without a key, so this repeats.
        while let Some((row, key, by, mark)) = starved(&given) {
            let row_id = TABLE[row].id;
            complaints.push(Complaint {
                mark,
                message: format!("`{key}` is the last key of `{row_id}` and cannot go to `{}`", TABLE[by].id),
                help: format!("give `{row_id}` another key as well"),
            });
            if let Some(chords) = &mut given[by] {
                chords.retain(|(chord, _)| *chord != key);
                if chords.is_empty() {
                    given[by] = None;
                }
            }
        }
        let chords = (0..TABLE.len()).map(|n| {
            if let Some(chords) = &given[n] {
                return chords.iter().map(|(chord, _)| *chord).collect();
            }
            let own = defaults(&TABLE[n]).into_iter();
            own.filter(|chord| taker(&given, n, *chord).is_none()).collect()
        });
        let mut map = Self { chords: chords.collect() };
        // Ctrl-C always quits, whatever the configuration says.
        if let Some(quit) = row("quit")
            && !map.chords[quit].contains(&Chord::INTERRUPT)
        {
            map.chords[quit].push(Chord::INTERRUPT);
        }
        (map, complaints)
    }

    /// The action of a key when these scopes are active, innermost first: the first scope that binds the key decides.
    pub fn action(&self, scopes: &[KeyScope], chord: Chord) -> Option<Action> {
        if scopes.contains(&KeyScope::Field) && chord.typed().is_some() {
            return None;
        }
        scopes.iter().find_map(|place| {
            let rows = TABLE.iter().zip(&self.chords);
            let mut meant =
                rows.filter(|(row, chords)| row.scopes.contains(place) && chords.contains(&chord));
            meant.next().map(|(row, _)| row.action)
        })
    }

    /// Where a key works that does nothing in these scopes: the first such scope, and the index of its action's row.
    pub fn elsewhere(&self, scopes: &[KeyScope], chord: Chord) -> Option<(KeyScope, usize)> {
        if scopes.contains(&KeyScope::Field) {
            return None;
        }
        let others =
            KeyScope::ALL.into_iter().filter(|place| *place != KeyScope::Field && !scopes.contains(place));
        others.into_iter().find_map(|place| {
            let mut rows = TABLE.iter().zip(&self.chords);
            let row = rows.position(|(row, chords)| row.scopes.contains(&place) && chords.contains(&chord));
            row.map(|row| (place, row))
        })
    }

    pub fn keys(&self, row: usize) -> &[Chord] {
        self.chords.get(row).map_or(&[], Vec::as_slice)
    }

    /// The label of the first key of the action named `id`; without one, what to type into the palette.
    pub fn label(&self, id: &str) -> String {
        let first = row(id).and_then(|row| self.keys(row).first());
        first.map_or_else(|| format!(":{id}"), |chord| chord.label())
    }
}

/// The keys of a binding that do not clash with earlier bindings.
fn granted<M: Copy>(
    wish: &Bindings<M>,
    given: &[Option<Vec<(Chord, M)>>],
    complaints: &mut Vec<Complaint<M>>,
) -> Vec<(Chord, M)> {
    let wanted = &TABLE[wish.row];
    let mut granted: Vec<(Chord, M)> = Vec::new();
    for (chord, mark) in wish.chords.iter().copied() {
        let refused = if chord == Chord::INTERRUPT && wanted.action != Action::Quit {
            Some(("`ctrl-c` always quits".to_owned(), format!("give `{}` another key", wanted.id)))
        } else if wanted.scopes == [KeyScope::Field] && chord.typed().is_some() {
            Some((
                format!("`{chord}` is typed into the line and cannot be `{}`", wanted.id),
                "write a key that types nothing, such as `enter` or `ctrl-x`".to_owned(),
            ))
        } else {
            taker(given, wish.row, chord).map(|(taker, _)| {
                (
                    format!("`{chord}` is both `{}` and `{}`", TABLE[taker].id, wanted.id),
                    format!("give one of them another key: both act {}", together(&TABLE[taker], wanted)),
                )
            })
        };
        match refused {
            Some((message, help)) => complaints.push(Complaint { mark, message, help }),
            None if granted.iter().all(|(known, _)| *known != chord) => granted.push((chord, mark)),
            None => {}
        }
    }
    granted
}

/// The first action that lost all its default keys to other actions without being bound itself: with its first key, the
/// action that took it, and the mark of that binding.
fn starved<M: Copy>(given: &[Option<Vec<(Chord, M)>>]) -> Option<(usize, Chord, usize, M)> {
    TABLE.iter().enumerate().find_map(|(row, candidate)| {
        let own = defaults(candidate);
        let taken = own.iter().all(|chord| taker(given, row, *chord).is_some());
        let key = *own.first().filter(|_| taken && given[row].is_none())?;
        let (by, mark) = taker(given, row, key)?;
        Some((row, key, by, mark))
    })
}

/// The action to which a key was bound within the scopes of `row`.
fn taker<M: Copy>(given: &[Option<Vec<(Chord, M)>>], row: usize, chord: Chord) -> Option<(usize, M)> {
    given.iter().enumerate().find_map(|(n, chords)| {
        if n == row || !TABLE[n].meets(&TABLE[row]) {
            return None;
        }
        let mut chords = chords.iter().flatten();
        chords.find(|(known, _)| *known == chord).map(|(_, mark)| (n, *mark))
    })
}

fn together(a: &Row, b: &Row) -> &'static str {
    let meets = |place: &KeyScope| a.scopes.iter().chain(b.scopes).any(|other| other == place);
    if meets(&KeyScope::Everywhere) {
        "on every screen"
    } else if a.scopes.contains(&KeyScope::Field) && b.scopes.contains(&KeyScope::Field) {
        "while you type"
    } else if meets(&KeyScope::Lesson) || meets(&KeyScope::Asked) {
        "in a lesson"
    } else if meets(&KeyScope::Free) {
        "in free play"
    } else {
        "in the catalogue"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Action, Bindings, Chord, KeyMap, KeyScope, TABLE, row};

    fn chord(text: &str) -> Chord {
        text.parse().expect(text)
    }

    fn wish(id: &str, keys: &[&str]) -> Bindings<usize> {
        let marks = keys.iter().enumerate();
        Bindings { row: row(id).expect(id), chords: marks.map(|(mark, key)| (chord(key), mark)).collect() }
    }

    const IN_LESSON: &[KeyScope] = &[KeyScope::Wire, KeyScope::Lesson, KeyScope::Everywhere];
    const IN_CATALOGUE: &[KeyScope] = &[KeyScope::Catalogue, KeyScope::Everywhere];
    const TYPING: &[KeyScope] = &[KeyScope::Field, KeyScope::Everywhere];

    #[test]
    fn the_table_is_sound() {
        let ids: HashSet<&str> = TABLE.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), TABLE.len(), "every name is there once");
        for (n, row) in TABLE.iter().enumerate() {
            assert!(!row.keys.is_empty(), "{} has a key", row.id);
            for key in row.keys {
                assert_eq!(chord(key).to_string(), *key, "written as it reads back");
            }
            for other in &TABLE[n + 1..] {
                let shared = row.keys.iter().filter(|key| other.keys.contains(key));
                // A key that types a character must have no other meaning in a text field.
                let clash = shared.filter(|_| row.meets(other));
                assert_eq!(clash.collect::<Vec<_>>(), Vec::<&&str>::new(), "{} and {}", row.id, other.id);
            }
            if let Some((more, _)) = row.fold {
                assert!(TABLE[n + 1..=n + more].iter().all(|next| next.scopes == row.scopes), "{}", row.id);
            }
            let everywhere =
                [KeyScope::Everywhere, KeyScope::Class].iter().any(|place| row.scopes.contains(place));
            let home = |place| row.scopes.contains(place) || everywhere;
            assert!(row.hints.iter().all(|hint| home(&hint.place)), "{}", row.id);
        }
    }

    #[test]
    fn a_key_is_resolved_by_scope() {
        let map = KeyMap::default();
        assert_eq!(map.action(IN_LESSON, chord("right")), Some(Action::Forward));
        assert_eq!(map.action(IN_CATALOGUE, chord("right")), Some(Action::Variants(true)));
        assert_eq!(map.action(IN_LESSON, chord("enter")), Some(Action::Open));
        assert_eq!(map.action(TYPING, chord("enter")), Some(Action::Accept));
        assert_eq!(map.action(TYPING, chord("q")), None, "it is typed");
        assert_eq!(map.action(TYPING, chord("ctrl-c")), Some(Action::Quit));
        assert_eq!(map.action(IN_CATALOGUE, chord("v")), None);
    }

    #[test]
    fn a_binding_takes_a_default_key_from_another_action() {
        let (map, complaints) = KeyMap::with(&[wish("step", &["j"])]);
        assert_eq!(complaints, vec![]);
        assert_eq!(map.action(IN_LESSON, chord("j")), Some(Action::Forward));
        assert_eq!(map.action(IN_LESSON, chord("right")), None);
        assert_eq!(map.action(IN_LESSON, chord("down")), Some(Action::Move(1)));
        assert_eq!(map.label("step"), "j");
        let (map, complaints) = KeyMap::with(&[wish("theme", &[])]);
        assert_eq!((map.label("theme"), complaints.len()), (":theme".to_owned(), 0));
    }

    #[test]
    fn two_swap_their_keys() {
        let (map, complaints) =
            KeyMap::with(&[wish("next-variant", &["V"]), wish("previous-variant", &["v"])]);
        assert_eq!(complaints, vec![]);
        assert_eq!(map.action(IN_LESSON, chord("V")), Some(Action::Variant(true)));
        assert_eq!(map.action(IN_LESSON, chord("v")), Some(Action::Variant(false)));
    }

    #[test]
    fn impossible_bindings_are_refused_and_change_nothing() {
        let (map, complaints) = KeyMap::with(&[wish("step", &["u"]), wish("back", &["u", "y"])]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].message.contains("`u` is both `step` and `back`"), "{complaints:?}");
        assert_eq!((complaints[0].mark, complaints[0].help.contains("in a lesson")), (0, true));
        assert_eq!(map.action(IN_LESSON, chord("u")), Some(Action::Forward));
        assert_eq!(map.action(IN_LESSON, chord("y")), Some(Action::Back));

        let (map, complaints) = KeyMap::with(&[wish("theme", &["r"])]);
        assert!(complaints[0].message.contains("last key of `restart`"), "{complaints:?}");
        assert_eq!(map, KeyMap::default());

        let (map, complaints) =
            KeyMap::with(&[wish("restart", &["ctrl-c"]), wish("erase", &["e"]), wish("quit", &[])]);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert_eq!(map.action(IN_LESSON, Chord::INTERRUPT), Some(Action::Quit));
        assert_eq!(map.action(IN_LESSON, chord("r")), Some(Action::Restart));
        assert_eq!(map.action(IN_LESSON, chord("Q")), None);
    }
}
