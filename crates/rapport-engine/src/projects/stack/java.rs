//! Java and Kotlin: Maven's `pom.xml`, or Gradle.

use super::{Stack, assigned, between, first_of};
use crate::projects::tree::ProjectTree;

const TESTS: [(&str, &str); 5] = [
    ("junit-jupiter", "JUnit 5"),
    ("useJUnitPlatform", "JUnit 5"),
    ("testng", "TestNG"),
    ("spock", "Spock"),
    ("junit", "JUnit"),
];

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    if tree.has("pom.xml") {
        return Some(maven(&tree.text("pom.xml").unwrap_or_default()));
    }
    let manifest = ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"]
        .into_iter()
        .find(|name| tree.has(name))?;
    Some(gradle(tree, manifest))
}

fn maven(text: &str) -> Stack {
    let own = own(text);
    let kotlin = text.contains("kotlin-maven-plugin");
    let modules = text
        .split("<module>")
        .skip(1)
        .filter_map(|rest| Some(rest.split("</module>").next()?.trim().to_owned()));
    let named = |name: &str| {
        // A value with a placeholder is not known without running Maven.
        let value = between(&own, &format!("<{name}>"), &format!("</{name}>"));
        value.filter(|value| !value.contains("${")).map(str::to_owned)
    };
    Stack {
        package_manager: Some("maven".into()),
        build_tool: Some("maven".into()),
        test_framework: first_of(text, &TESTS),
        test_command: Some("mvn test".into()),
        version: named("version"),
        description: named("description"),
        members: modules.collect(),
        ..Stack::new(if kotlin { "Kotlin" } else { "Java" }, "pom.xml")
    }
}

/// The part of a `pom.xml` about the project itself: without its parent, its dependencies and its build.
fn own(text: &str) -> String {
    let mut text = text.to_owned();
    for part in ["parent", "dependencyManagement", "dependencies", "build", "profiles", "reporting"] {
        let (begin, end) = (format!("<{part}>"), format!("</{part}>"));
        if let Some(from) = text.find(&begin)
            && let Some(to) = text[from..].rfind(&end)
        {
            text.replace_range(from..from + to + end.len(), "");
        }
    }
    text
}

fn gradle(tree: &ProjectTree, manifest: &str) -> Stack {
    let text = tree.text(manifest).unwrap_or_default();
    let settings = ["settings.gradle.kts", "settings.gradle"].iter().find_map(|name| tree.text(name));
    let properties = tree.text("gradle.properties").unwrap_or_default();
    let said = properties.lines().find_map(|line| line.trim().strip_prefix("version=")).map(str::to_owned);
    let kotlin = ["kotlin(", "org.jetbrains.kotlin"].iter().any(|sign| text.contains(sign));
    let command = if tree.has("gradlew") { "./gradlew test" } else { "gradle test" };
    Stack {
        package_manager: Some("gradle".into()),
        build_tool: Some("gradle".into()),
        test_framework: first_of(&text, &TESTS),
        test_command: Some(command.into()),
        version: assigned(&text, "version").or(said),
        description: assigned(&text, "description"),
        members: settings.map(|settings| included(&settings)).unwrap_or_default(),
        ..Stack::new(if kotlin { "Kotlin" } else { "Java" }, manifest)
    }
}

/// The projects that settings include: `include ':app', ':lib:core'` are the directories `app` and `lib/core`.
fn included(settings: &str) -> Vec<String> {
    let lines = settings.lines().map(str::trim).filter(|line| line.starts_with("include"));
    let quoted = lines.flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2));
    quoted.map(|path| path.trim_start_matches(':').replace(':', "/")).collect()
}
