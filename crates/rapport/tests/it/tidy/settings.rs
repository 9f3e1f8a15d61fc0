//! Settings are tables, and the documentation for people agrees with them.

use rapport::agents::AgentKinds;
use rapport::channels::ChannelKinds;
use rapport::config::Layer;
use rapport::workers::WorkerKinds;
use rapport_settings::{May, Row, Section as _, variable};

use super::crates;

fn page(name: &str) -> String {
    std::fs::read_to_string(crates().parent().unwrap().join("docs").join(name)).unwrap()
}

/// Whether a row of a page's tables tells of a setting and of a variable that sets it.
fn told(page: &str, row: &Row) -> bool {
    let key = format!("`{}`", row.key);
    let variables = [variable(row.key)].into_iter().chain(row.older.iter().map(|older| (*older).to_owned()));
    let variables: Vec<_> = variables.map(|name| format!("`{name}`")).collect();
    let mut lines = page.lines().filter(|line| line.starts_with('|') && line.contains(&key));
    lines.any(|line| row.may == May::Home || variables.iter().any(|name| line.contains(name)))
}

/// The settings of the engine, and what kinds of agents and workers add to them.
fn rows() -> Vec<Row> {
    let kinds = [AgentKinds::builtin().sections(), WorkerKinds::builtin().sections()].concat();
    Layer::rows().into_iter().chain(kinds.into_iter().flat_map(|section| section.rows)).collect()
}

#[test]
fn every_setting_is_on_its_page_with_a_variable() {
    let commands = page("commands.md");
    let mut silent: Vec<_> =
        rows().into_iter().filter(|row| !told(&commands, row)).map(|row| row.key).collect();
    for section in ChannelKinds::builtin().sections() {
        let page = page(&format!("{}.md", section.name));
        silent.extend(section.rows.iter().filter(|row| !told(&page, row)).map(|row| row.key));
    }
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn what_needs_trust_is_listed() {
    let commands = page("commands.md");
    let (_, trust) = commands.split_once("## Trust in a project").unwrap();
    let list = trust.split_once(';').unwrap().0;
    let needs_trust: Vec<_> =
        rows().into_iter().filter(|row| row.may == May::Trusted).map(|row| row.key).collect();
    assert!(needs_trust.len() > 10, "{needs_trust:?}");
    let silent: Vec<_> = needs_trust.iter().filter(|key| !list.contains(&format!("`{key}`"))).collect();
    assert!(silent.is_empty(), "{silent:?}");
    let named = list.split('`').skip(1).step_by(2).filter(|word| word.contains('.') && !word.contains('/'));
    let wrong: Vec<_> = named.filter(|word| !needs_trust.contains(word)).collect();
    assert!(wrong.is_empty(), "a project may set these by itself: {wrong:?}");
}
