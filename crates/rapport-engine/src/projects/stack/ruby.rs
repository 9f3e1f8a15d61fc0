//! Ruby: `Gemfile`, or a gem's own specification.

use super::{Stack, assigned};
use crate::projects::tree::ProjectTree;

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    let specification = tree.at_root_ending(".gemspec").next();
    let has_gemfile = tree.has("Gemfile");
    let manifest = if has_gemfile { "Gemfile" } else { specification? };
    let gems = tree.text(manifest).unwrap_or_default();
    let said = specification.and_then(|name| tree.text(name)).unwrap_or_default();
    let names = |gem: &str| gems.contains(gem) || said.contains(gem);
    let (tests, command) = match () {
        () if tree.has(".rspec") || names("rspec") => (Some("RSpec"), "bundle exec rspec"),
        () if names("minitest") => (Some("Minitest"), "bundle exec rake test"),
        () if names("test-unit") => (Some("test-unit"), "bundle exec rake test"),
        () => (None, "bundle exec rake test"),
    };
    Some(Stack {
        package_manager: Some("bundler".into()),
        build_tool: tree.has("Rakefile").then(|| "rake".into()),
        test_framework: tests.map(str::to_owned),
        test_command: Some(command.into()),
        version: assigned(&said, "version"),
        description: assigned(&said, "summary"),
        ..Stack::new("Ruby", manifest)
    })
}
