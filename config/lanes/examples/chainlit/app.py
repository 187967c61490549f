"""A small assistant that shows how a lane reads an engine: it streams a Markdown answer, a piece at a time."""

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
    text = ANSWER.format(question=json.dumps(message.content, ensure_ascii=False))
    reply = cl.Message(content="")
    for start in range(0, len(text), 12):
        await reply.stream_token(text[start : start + 12])
        await asyncio.sleep(0.02)
    await reply.send()
