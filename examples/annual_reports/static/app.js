"use strict";

const form = document.getElementById("ask");
const steps = document.getElementById("steps");
const trouble = document.getElementById("trouble");

function told(line) {
  const item = document.createElement("li");
  item.textContent = line.about ? `${line.step} · ${line.about}` : line.step;
  steps.append(item);
}

async function ask(text) {
  const answer = await fetch("/ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ thread: form.dataset.thread, text }),
  });
  if (!answer.ok) {
    throw new Error((await answer.json()).error);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.map((each) => JSON.parse(each))) {
      if (line.error) {
        throw new Error(line.error);
      }
      if (line.step) {
        told(line);
      }
    }
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = form.elements.text;
  if (!field.value.trim()) {
    return;
  }
  steps.replaceChildren();
  trouble.textContent = "";
  form.elements.send.disabled = true;
  try {
    await ask(field.value);
    window.location.reload();
  } catch (error) {
    trouble.textContent = error.message;
    form.elements.send.disabled = false;
  }
});
