//! The tool calls of a stored conversation without a result, with which the agent would continue.

use std::collections::HashSet;

use serde_json::Value;

/// The calls without a result, with their whole input, in order.
pub fn pending(transcript: &[u8]) -> Vec<String> {
    let lines = transcript.split(|byte| *byte == b'\n');
    let lines: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let blocks = || lines.iter().filter_map(|line| line["message"]["content"].as_array()).flatten();
    let of = |kind: &'static str| blocks().filter(move |block| block["type"] == kind);
    let done: HashSet<_> = of("tool_result").filter_map(|block| block["tool_use_id"].as_str()).collect();
    let is_open = |block: &&Value| !block["id"].as_str().is_some_and(|id| done.contains(id));
    of("tool_use").filter(is_open).map(words).collect()
}

fn words(call: &Value) -> String {
    let (tool, input) = (call["name"].as_str().unwrap_or("a tool without a name"), &call["input"]);
    match input["command"].as_str().filter(|_| input.as_object().is_some_and(|input| input.len() == 1)) {
        Some(command) => format!("{tool}: {command}"),
        None => format!("{tool}: {input}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_a_result_are_told_as_a_whole() {
        let lines = [
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Well."},{"type":"tool_use","id":"a","name":"Bash","input":{"command":"true"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}}"#,
            "not json",
            r#"{"type":"user","message":{"content":"words"}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"rm -rf ~"}},{"type":"tool_use","id":"c","name":"Write","input":{"file_path":"x","content":"y"}}]}}"#,
        ];
        let pending = pending(lines.join("\n").as_bytes());
        assert_eq!(pending, ["Bash: rm -rf ~", r#"Write: {"content":"y","file_path":"x"}"#]);
        assert_eq!(super::pending(b""), [""; 0]);
    }
}
