//! .NET: a solution, or a project of C#, F# or Visual Basic.

use super::{Stack, between, first_of};
use crate::projects::tree::ProjectTree;

const TESTS: [(&str, &str); 3] = [("xunit", "xUnit"), ("NUnit", "NUnit"), ("MSTest", "MSTest")];
const PROJECTS: [(&str, &str); 3] = [(".csproj", "C#"), (".fsproj", "F#"), (".vbproj", "Visual Basic")];
/// The maximum number of projects to look into.
const MOST_READ: usize = 50;

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    let solution = [".sln", ".slnx"].into_iter().find_map(|ending| tree.at_root_ending(ending).next());
    let at_root = PROJECTS.iter().find_map(|(ending, _)| tree.at_root_ending(ending).next());
    let manifest = solution.or(at_root)?;
    let is_project = |path: &str| PROJECTS.iter().any(|(ending, _)| path.ends_with(ending));
    let projects = tree.files().iter().map(|found| found.path.as_str()).filter(|path| is_project(path));
    let projects: Vec<_> = projects.take(MOST_READ).collect();
    let texts: Vec<_> = projects.iter().filter_map(|path| tree.text(path)).collect();
    let language = PROJECTS.iter().find(|(ending, _)| projects.iter().any(|path| path.ends_with(ending)));
    let properties = tree.text("Directory.Build.props");
    let all = || properties.iter().chain(&texts);
    let named = |name: &str| {
        all().find_map(|text| between(text, &format!("<{name}>"), &format!("</{name}>"))).map(str::to_owned)
    };
    let members = projects.iter().filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()));
    Some(Stack {
        package_manager: Some("NuGet".into()),
        build_tool: Some("dotnet".into()),
        test_framework: texts.iter().find_map(|text| first_of(text, &TESTS)),
        test_command: Some("dotnet test".into()),
        version: named("Version").or_else(|| named("VersionPrefix")),
        description: named("Description"),
        members: members.collect(),
        ..Stack::new(language.map_or(".NET", |(_, name)| name), manifest)
    })
}
