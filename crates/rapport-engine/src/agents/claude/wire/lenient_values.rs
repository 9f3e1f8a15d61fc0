//! Lenient values that are parsed in one pass: a field of an unexpected type reads as absent instead of invalidating
//! its line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Block;

/// A string, borrowed from the line if it has no escapes. Anything else is empty.
#[derive(Debug, Default)]
pub struct Text<'a>(Cow<'a, str>);

#[derive(Debug, Default)]
pub struct Number(pub f64);

/// Whether the value is `true`; anything else is not.
#[derive(Debug, Default)]
pub struct Flag(pub bool);

/// `true` or `false`; anything else is `None`.
#[derive(Debug, Default)]
pub struct OptionalFlag(pub Option<bool>);

/// A string, where `null` differs from an absent field.
#[derive(Debug, Default)]
pub enum Word<'a> {
    #[default]
    Absent,
    Null,
    Is(Cow<'a, str>),
}

#[derive(Debug)]
pub struct Part<T>(Option<T>);

#[derive(Debug)]
pub struct List<T>(Vec<T>);

/// The content of a message.
#[derive(Debug, Default)]
pub enum Content<'a> {
    Plain(Cow<'a, str>),
    Blocks(List<Part<Block<'a>>>),
    #[default]
    Nothing,
}

/// The sum of `costUSD` over a map of models, if there is such a map.
#[derive(Debug, Default)]
pub struct Cost(pub Option<f64>);

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T> Deref for Part<T> {
    type Target = Option<T>;
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl Number {
    /// As a count; 0 if it is not a count.
    pub fn count(&self) -> u64 {
        self.0 as u64
    }
}

/// How a type reads each kind of JSON value; by default as nothing.
trait Take<'de>: Default {
    fn text(_: Cow<'de, str>) -> Self {
        Self::default()
    }
    fn number(_: f64) -> Self {
        Self::default()
    }
    fn flag(_: bool) -> Self {
        Self::default()
    }
    fn null() -> Self {
        Self::default()
    }
    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn list<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'de: 'a, 'a> Take<'de> for Text<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self(text)
    }
}

impl<'de: 'a, 'a> Take<'de> for Word<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Is(text)
    }
    fn null() -> Self {
        Self::Null
    }
}

impl<'de> Take<'de> for Number {
    fn number(number: f64) -> Self {
        Self(number)
    }
}

impl<'de> Take<'de> for Flag {
    fn flag(flag: bool) -> Self {
        Self(flag)
    }
}

impl<'de> Take<'de> for OptionalFlag {
    fn flag(flag: bool) -> Self {
        Self(Some(flag))
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for Part<T> {
    fn object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|part| Self(Some(part)))
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for List<T> {
    fn list<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Self(items))
    }
}

impl<'de: 'a, 'a> Take<'de> for Content<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Plain(text)
    }
    fn list<A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error> {
        List::list(seq).map(Self::Blocks)
    }
}

impl<'de> Take<'de> for Cost {
    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        struct OfModel {
            #[serde(rename = "costUSD")]
            cost_usd: Number,
        }
        let mut sum = 0.0;
        while let Some((_, model)) = map.next_entry::<IgnoredAny, Part<OfModel>>()? {
            sum += model.as_ref().map_or(0.0, |model| model.cost_usd.0);
        }
        Ok(Self(Some(sum)))
    }
}

struct Lenient<T>(PhantomData<T>);

impl<'de, T: Take<'de>> Visitor<'de> for Lenient<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }
    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::null())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::list(seq)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::object(map)
    }
}

macro_rules! deserialize_leniently {
    ($([$($generics:tt)*] $name:ty;)*) => {$(
        impl<$($generics)*> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Lenient(PhantomData))
            }
        }
    )*};
}

deserialize_leniently! {
    ['de: 'a, 'a] Text<'a>;
    ['de: 'a, 'a] Word<'a>;
    ['de: 'a, 'a] Content<'a>;
    ['de] Number;
    ['de] Flag;
    ['de] OptionalFlag;
    ['de] Cost;
    ['de, T: Deserialize<'de>] Part<T>;
    ['de, T: Deserialize<'de>] List<T>;
}
