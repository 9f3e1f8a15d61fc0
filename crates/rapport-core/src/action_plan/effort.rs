//! Shows that parsing takes linear time, whatever the text. The test counts bytes looked at, so the machine does not
//! matter.

use super::lines::Lines;
use super::parse::Reader;

/// The maximum number of times that each byte may be read.
const OFTEN: usize = 30;

fn plan(actions: &str) -> String {
    format!("# Do it\n\n## Rationale\n\nBecause.\n\n## Action Plan\n\n{actions}")
}

/// Inputs that make a careless parser take quadratic time.
fn nasty(size: usize) -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len());
    let create = |fence: &str| plan(&format!("### CREATE\n- **File Path:** a\n\n{fence}"));
    let decreasing: String = (3..)
        .map(|run| "`".repeat(run) + "x\n")
        .scan(0, |sum, line| {
            *sum += line.len();
            (*sum < size).then_some(line)
        })
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    vec![
        ("a large file", create(&format!("```\n{}```\n", fill("some words of code\n")))),
        ("open fences before the title", fill("```x\n") + &plan("")),
        ("open fences before the title, one closed", fill("```x\n") + "```\n" + &plan("")),
        ("open fences in a file", create(&fill("```x\n"))),
        ("open fences in a file, one closed", create(&(fill("```x\n") + "```\n"))),
        ("open fences in a message", plan(&format!("### INVOKE\n- **Agent:** a\n\n{}```\n", fill("```x\n")))),
        ("bare fences", create(&fill("```\n"))),
        ("bare fences in a document", create(&format!("```md\n{}", fill("```\n")))),
        ("ever shorter fences", create(&decreasing)),
        ("ever shorter fences before the title", decreasing.clone() + &plan("")),
        ("actions", plan(&fill("### `CREATE`\n"))),
        ("open actions", plan(&fill("### `CREATE`\n- **File Path:** a\n```\n"))),
        ("whole actions", plan(&fill("### `CREATE`\n- **File Path:** a\n```\nx\n```\n"))),
        (
            "edits",
            plan(&format!(
                "### EDIT\n- **File Path:** a\n{}",
                fill("FIND:\n```\nx\n```\nREPLACE:\n```\n```\n")
            )),
        ),
        ("queries", plan(&format!("### RESEARCH\n{}", fill("```\nx\n```\n")))),
        ("parameters", plan(&format!("### READ\n{}", fill("- **Description:** x\n")))),
        ("a long description", plan(&format!("### READ\n- **Description:** x\n{}", fill("  more\n")))),
        ("variables", plan(&format!("### EXECUTE\n- **env:**\n{}```\nls\n```\n", fill("  - `A=1`\n")))),
        ("changes", plan("").replace("## Action", &format!("## Memos\n{}## Action", fill("[+] `a` # b\n")))),
        ("backticks", create(&fill("`"))),
        ("runs of backticks", plan(&format!("### READ\n- **Resource:** ``{}", fill("` ``` ")))),
        ("blank lines", fill("\n")),
        ("titles", fill("# x\n")),
        ("sections", fill("## Rationale\n")),
        ("marks", fill("#*[`-")),
    ]
}

#[test]
fn file_9_nothing_is_looked_at_again_and_again() {
    for (name, text) in nasty(300_000) {
        let mut reader = Reader::new(Lines::new(&text), "");
        drop(reader.plan());
        let looked = reader.lines.looked();
        assert!(looked < OFTEN * text.len(), "{name}: {looked} bytes were looked at of {}", text.len());
    }
}
