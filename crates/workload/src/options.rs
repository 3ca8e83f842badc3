//! The options of built-in workloads: names, types, defaults and limits.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{OptionValue, SpecError};

/// The default of an option, which also determines its type.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Default {
    Bool(bool),
    /// With the least and the greatest value allowed.
    Count(Count),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    value: u32,
    least: u32,
    greatest: u32,
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.value)
    }
}

/// An option that a workload knows.
pub(crate) type Known = (&'static str, Default);

pub(crate) const fn switch(name: &'static str, value: bool) -> Known {
    (name, Default::Bool(value))
}

/// The number of statements or values of some kind; a million is beyond any use and keeps sums
/// small.
pub(crate) const fn count(name: &'static str, value: u32) -> Known {
    (name, Default::Count(Count { value, least: 0, greatest: 1_000_000 }))
}

pub(crate) const fn count_within(
    name: &'static str,
    value: u32,
    least: u32,
    greatest: u32,
) -> Known {
    (name, Default::Count(Count { value, least, greatest }))
}

/// The options of a plan, checked against those of its workload.
#[derive(Debug)]
pub(crate) struct Options {
    bools: BTreeMap<&'static str, bool>,
    counts: BTreeMap<&'static str, u32>,
}

impl Options {
    /// # Errors
    /// An option that the workload does not have, or of the wrong type or size.
    pub(crate) fn check(
        workload: &'static str,
        known: &[Known],
        given: &BTreeMap<String, OptionValue>,
    ) -> Result<Self, SpecError> {
        if let Some(option) = given.keys().find(|name| known.iter().all(|one| one.0 != *name)) {
            let known = names(known);
            return Err(SpecError::UnknownOption { workload, option: option.clone(), known });
        }
        let mut options = Self { bools: BTreeMap::new(), counts: BTreeMap::new() };
        for &(name, default) in known {
            options.take(workload, (name, default), given.get(name))?;
        }
        Ok(options)
    }

    pub(crate) fn bool(&self, name: &str) -> bool {
        self.bools[name]
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        self.counts[name]
    }

    fn take(
        &mut self,
        workload: &'static str,
        (name, default): Known,
        given: Option<&OptionValue>,
    ) -> Result<(), SpecError> {
        let wrong = |expected| SpecError::WrongType {
            workload,
            option: name,
            expected,
            given: given.map_or_else(String::new, OptionValue::to_string),
        };
        match (default, given) {
            (Default::Bool(value), None) | (Default::Bool(_), Some(&OptionValue::Bool(value))) => {
                self.bools.insert(name, value);
            }
            (Default::Bool(_), Some(_)) => return Err(wrong("true or false".to_owned())),
            (Default::Count(count), given) => {
                let value = count.of(given).ok_or_else(|| wrong(count.expected()))?;
                self.counts.insert(name, value);
            }
        }
        Ok(())
    }
}

impl Count {
    fn of(self, given: Option<&OptionValue>) -> Option<u32> {
        let value = match given {
            None => return Some(self.value),
            Some(OptionValue::Int(value)) => u32::try_from(*value).ok()?,
            Some(_) => return None,
        };
        (self.least..=self.greatest).contains(&value).then_some(value)
    }

    fn expected(self) -> String {
        format!("a whole number from {} to {}", self.least, self.greatest)
    }
}

fn names(known: &[Known]) -> String {
    match known {
        [] => "none".to_owned(),
        _ => known.iter().map(|one| one.0).collect::<Vec<_>>().join(", "),
    }
}
