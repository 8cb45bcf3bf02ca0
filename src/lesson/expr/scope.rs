//! The names that an expression can use, and their values.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use minijinja::{
    Value,
    value::{Object, ObjectRepr},
};

/// Names and their values; the innermost frame is last.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    frames: Vec<Arc<HashMap<String, Value>>>,
}

impl Scope {
    pub fn new(values: HashMap<String, Value>) -> Self {
        Self { frames: vec![Arc::new(values)] }
    }

    pub fn enter(&mut self, values: HashMap<String, Value>) {
        self.frames.push(Arc::new(values));
    }

    pub fn leave(&mut self) {
        self.frames.pop();
    }

    /// Sets a name in the innermost frame.
    pub fn set(&mut self, name: &str, value: Value) {
        self.set_in(self.frames.len().saturating_sub(1), name, value);
    }

    /// Sets a name in the outermost frame, so that it survives the end of a `use`.
    pub fn set_outermost(&mut self, name: &str, value: Value) {
        self.set_in(0, name, value);
    }

    fn set_in(&mut self, frame: usize, name: &str, value: Value) {
        match self.frames.get_mut(frame) {
            Some(frame) => drop(Arc::make_mut(frame).insert(name.to_owned(), value)),
            None => self.enter(HashMap::from([(name.to_owned(), value)])),
        }
    }

    /// Makes a name undefined in all frames that have it.
    pub(crate) fn forget(&mut self, name: &str) {
        for frame in self.frames.iter_mut().filter(|frame| frame.contains_key(name)) {
            Arc::make_mut(frame).insert(name.to_owned(), Value::UNDEFINED);
        }
    }

    /// Adds to the integers that have these names, in every frame.
    pub(crate) fn add_to<'n>(&mut self, names: impl Iterator<Item = (&'n str, i64)>) {
        for (name, more) in names {
            for frame in &mut self.frames {
                let known = frame.get(name).and_then(|value| i64::try_from(value.clone()).ok());
                if let Some(known) = known {
                    Arc::make_mut(frame).insert(name.to_owned(), Value::from(known.saturating_add(more)));
                }
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    /// The wanted names and their values as a text, frame by frame.
    pub(crate) fn described(&self, wanted: impl Fn(&str) -> bool) -> String {
        let frames = self.frames.iter().map(|frame| {
            let named = frame.iter().filter(|(name, _)| wanted(name));
            format!("{:?}", named.collect::<BTreeMap<_, _>>())
        });
        frames.collect::<Vec<_>>().join(" ")
    }

    /// The scope as the value that expressions are evaluated against. Cheap, because frames are shared.
    pub fn value(&self) -> Value {
        Value::from_object(self.clone())
    }
}

impl Object for Scope {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key.as_str()?).cloned()
    }
}
