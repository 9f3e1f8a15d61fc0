//! PHP: `composer.json`.

use serde_json::Value;

use super::Stack;
use crate::projects::tree::ProjectTree;

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    if !tree.has("composer.json") {
        return None;
    }
    let text = tree.text("composer.json").unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let needs =
        |name: &str| ["require", "require-dev"].iter().any(|kind| manifest[*kind].get(name).is_some());
    let (tests, command) = match () {
        () if needs("pestphp/pest") => (Some("Pest"), "vendor/bin/pest"),
        () if needs("phpunit/phpunit") => (Some("PHPUnit"), "vendor/bin/phpunit"),
        () => (None, "composer test"),
    };
    let framework = match () {
        () if needs("laravel/framework") => Some("Laravel"),
        () if needs("symfony/framework-bundle") => Some("Symfony"),
        () => None,
    };
    let named = |name: &str| manifest[name].as_str().map(str::to_owned);
    Some(Stack {
        package_manager: Some("composer".into()),
        build_tool: framework.map(str::to_owned),
        test_framework: tests.map(str::to_owned),
        test_command: Some(command.into()),
        version: named("version"),
        description: named("description"),
        ..Stack::new("PHP", "composer.json")
    })
}
