"""A small assistant to try a lane with: it streams an answer in Markdown that quotes the question word for word."""

import asyncio
import json

import chainlit as cl

ANSWER = """## What was asked

The question arrived as this text:

```json
{question}
```

## How to choose

Start with the [buyer's guide](https://guides.example/bicycles?utm_source=chainlit), then compare:

- **Weight**: see the [lab's table](https://lab.example/weight?model=2)
- *Brakes*: discs hold in the rain
- Price

> Buy the one that you will ride.

The [buyer's guide](https://guides.example/bicycles) has the details.
"""


@cl.on_message
async def answer(message: cl.Message) -> None:
    question = json.dumps(message.content, ensure_ascii=False)
    first, second = ANSWER.format(question=question).split("## How", 1)
    reply = cl.Message(content="")
    await stream(reply, first)
    # Assistants stop to think: a reader that takes silence for the end has half an answer.
    await asyncio.sleep(1)
    await stream(reply, f"## How{second}")
    await reply.send()


async def stream(reply: cl.Message, text: str) -> None:
    for start in range(0, len(text), 24):
        await reply.stream_token(text[start : start + 24])
        await asyncio.sleep(0.01)
