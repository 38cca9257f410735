"""What listens: one foundation (who may ask, what a browser may do) for the annotation page and the service.

tokens      who asks: bearer tokens of a file, or a cookie for a link that works once
guard       what every request passes: Host, Origin, sizes, who asks; what every answer carries
problems    errors as problem+json, without any text of the request
listening   where it listens: loopback, or elsewhere with tokens and TLS; ends in good order
options     what an operator says of these, of limits and of jobs
service     scrubbing for applications, by the workers of a pool
worker      what such a worker does with a body
lines       a stream of lines in, a stream of lines out, in bounded memory
sessions    maps of masking, in memory or in the vault
job_store   what jobs are asked for, where they may read and write, and how far they are
job_worker  what does them
jobs        folders and tables, asynchronously; they outlive the service
serving     from what an operator says to a service that listens
interface   what the service's description (OpenAPI) says of bodies; its page stands in static/
annotating  from an opened project to the page in a browser
annotation  the annotation page, over a project; its files stand in static/
"""
